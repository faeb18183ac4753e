package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// The table promises that every fault can be told apart and that its names fit Kubernetes.
func TestCatalogue(t *testing.T) {
	names := map[string]string{}
	all := catalogue()
	if len(all) < 25 {
		t.Errorf("%d faults, at least 25 are promised", len(all))
	}
	for _, f := range all {
		job := shaped(f, 1)
		if other := names[job.Name]; other != "" {
			t.Errorf("%q and %q would share the job name %s", f.Name, other, job.Name)
		}
		names[job.Name] = f.Name
		// Host names of pods must fit a label: <job>-launcher-0-0.
		if len(job.Name) > 63-len("-launcher-0-0") {
			t.Errorf("%s: the job name %s is too long for its pods", f.Name, job.Name)
		}
		if f.How == "" {
			t.Errorf("%s does not say how it is injected", f.Name)
		}
		if f.Before == nil && f.During == nil && f.Shape == nil {
			t.Errorf("%s injects nothing", f.Name)
		}
	}
}

// A reason that no page explains cannot be right.
func TestWantedReasonsAreDocumented(t *testing.T) {
	documented := map[mpi.Reason]bool{}
	for _, entry := range diagnose.Entries() {
		documented[entry.Reason] = true
	}
	for _, f := range catalogue() {
		for _, reason := range f.Want {
			if !documented[reason] {
				t.Errorf("%s wants %s, which package diagnose does not document", f.Name, reason)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	got, err := choose("eviction, wrong image")
	if err != nil || len(got) != 2 || got[0].Name != "eviction" || got[1].Name != "wrong image" {
		t.Errorf("choose = %v, %v", got, err)
	}
	if _, err := choose("evction"); err == nil || !strings.Contains(err.Error(), "evction") {
		t.Errorf("an unknown fault gives the error %v", err)
	}
}

func TestRight(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  Fault
		seen   seen
		want   bool
	}{
		"Reason":      {"the wanted reason", Fault{Want: []mpi.Reason{"A", "B"}}, seen{reason: "B"}, true},
		"OtherReason": {"another reason is wrong, whatever it says", Fault{Want: []mpi.Reason{"A"}}, seen{reason: "C", message: "A"}, false},
		"NoEvidence":  {"the reason alone is not enough", Fault{Want: []mpi.Reason{"A"}, Says: []string{"rank 3"}}, seen{reason: "A"}, false},
		"Evidence":    {"case does not matter", Fault{Want: []mpi.Reason{"A"}, Says: []string{"rank 3"}}, seen{reason: "A", message: "Rank 3 died"}, true},
		"Survives":    {"a job that must survive", Fault{}, seen{condition: trainer.TrainJobComplete}, true},
		"Dies":        {"and does not", Fault{}, seen{condition: trainer.TrainJobFailed}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (&attempt{fault: tc.fault}).right(tc.seen); got != tc.want {
				t.Errorf("%s: right = %t", tc.reason, got)
			}
		})
	}
}

func TestDocument(t *testing.T) {
	rows := []Row{
		{Fault: "a", Reason: "X", Right: true, Seconds: 1, Want: []string{"X"}, How: "how | so", Message: "first\nsecond"},
		{Fault: "a", Reason: "X", Right: true, Seconds: 3, Want: []string{"X"}, Leftovers: 1},
		{Fault: "a", Reason: "X", Right: true, Seconds: 2, Want: []string{"X"}},
		{Fault: "b", Reason: "Y", Want: []string{"Z"}, Seconds: 60},
		{Fault: "c", Want: []string{"Complete"}, Condition: "Complete", Reason: "Completed", Right: true, Seconds: 9},
	}
	got := document(rows, "A busy machine.")
	for _, line := range []string{
		"| a | how \\| so | X | 3 of 3 | 2.0 (3.0) | 1 |",
		"| b |  | Y | **0 of 1**, wanted Z | 60.0 (60.0) | 0 |",
		"| c |  | Complete | 1 of 1 | 9.0 (9.0) | 0 |",
		"3 faults, 2 named rightly in every run; 1 leftovers. From the fault to its name: median 2.0 s, slowest 3.0 s.",
		"| a | first second |", "A busy machine.",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("the document lacks the line\n%s\nin\n%s", line, got)
		}
	}
}

func TestReplaceKeepsTheOrder(t *testing.T) {
	old := []Row{{Fault: "a", Run: 1}, {Fault: "a", Run: 2}, {Fault: "b", Run: 1}}
	got := replace(old, []Row{{Fault: "a", Run: 7}, {Fault: "c", Run: 1}})
	want := []Row{{Fault: "a", Run: 7}, {Fault: "b", Run: 1}, {Fault: "c", Run: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMark(t *testing.T) {
	cases := map[string]bool{
		"rank=2 size=4 host=a sum=10 expected=10 ok": true, "fault: rank 3": true, "library=Open MPI": false, "": false,
	}
	for line, want := range cases {
		if diff := cmp.Diff(want, isMark(line)); diff != "" {
			t.Errorf("isMark(%q): %s", line, diff)
		}
	}
}
