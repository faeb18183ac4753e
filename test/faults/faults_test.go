package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// The table promises that every fault can be told apart and that its names fit Kubernetes.
func TestCatalog(t *testing.T) {
	names := map[string]string{}
	all := catalog()
	if len(all) < 70 {
		t.Errorf("%d faults, at least 70 are promised", len(all))
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
		if f.Waits && len(f.Want) == 0 {
			t.Errorf("%s waits for nothing that is named", f.Name)
		}
		if f.Before == nil && f.During == nil && f.Shape == nil {
			t.Errorf("%s injects nothing", f.Name)
		}
	}
}

// A reason that no page explains cannot be right.
func TestWantedReasonsAreDocumented(t *testing.T) {
	documented := map[mpi.Reason]bool{}
	for _, entry := range diagnose.ReasonDocs() {
		documented[entry.Reason] = true
	}
	for _, f := range catalog() {
		for _, reason := range f.Want {
			if !documented[reason] {
				t.Errorf("%s wants %s, which package diagnose does not document", f.Name, reason)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	got, err := choose("eviction; wrong image")
	if err != nil || len(got) != 2 || got[0].Name != "eviction" || got[1].Name != "wrong image" {
		t.Errorf("choose = %v, %v", got, err)
	}
	if _, err := choose("evction"); err == nil || !strings.Contains(err.Error(), "evction") {
		t.Errorf("an unknown fault gives the error %v", err)
	}
}

func TestRight(t *testing.T) {
	const job = "demo"
	wantA := []mpi.Reason{"A", "B"}
	cases := map[string]struct {
		reason string
		fault  Fault
		seen   seen
		want   bool
	}{
		"Reason":       {"the wanted reason", Fault{Want: wantA}, seen{reason: "B"}, true},
		"OtherReason":  {"another reason is wrong, whatever it says", Fault{Want: wantA}, seen{reason: "C", message: "A"}, false},
		"NoEvidence":   {"the reason alone is not enough", Fault{Want: wantA, Says: []string{"killed"}}, seen{reason: "A"}, false},
		"Evidence":     {"case does not matter", Fault{Want: wantA, Says: []string{"killed"}}, seen{reason: "A", message: "Killed"}, true},
		"Rank":         {"rank and worker", Fault{Want: wantA, Hits: rankOf(3)}, seen{reason: "A", message: "Worker 0 failed: rank 3 died"}, true},
		"RankByHost":   {"a rank with its host", Fault{Want: wantA, Hits: rankOf(3)}, seen{reason: "A", message: "rank 3 (pid 8 on demo-node-0-0) sleeps"}, true},
		"OtherRank":    {"a number that begins alike", Fault{Want: wantA, Hits: rankOf(3)}, seen{reason: "A", message: "Worker 0 failed: rank 30 died"}, false},
		"OtherWorker":  {"the right rank elsewhere", Fault{Want: wantA, Hits: rankOf(3)}, seen{reason: "A", message: "Worker 1 failed: rank 3 died"}, false},
		"Launcher":     {"the launcher", Fault{Want: wantA, Hits: launcherOf}, seen{reason: "A", message: "Launcher failed: killed (pod demo-launcher-0-0-x7x2p)"}, true},
		"NotLauncher":  {"a worker instead", Fault{Want: wantA, Hits: launcherOf}, seen{reason: "A", message: "Worker 0 failed"}, false},
		"Survives":     {"a job that must survive", Fault{}, seen{condition: trainer.TrainJobComplete}, true},
		"Dies":         {"and does not", Fault{}, seen{condition: trainer.TrainJobFailed}, false},
		"SurvivesLess": {"says nothing of whom was hit", Fault{Hits: rankOf(3)}, seen{condition: trainer.TrainJobComplete}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &attempt{fault: tc.fault}
			if tc.fault.Hits != nil {
				a.target = tc.fault.Hits(job)
			}
			if got := a.right(tc.seen); got != tc.want {
				t.Errorf("%s: right = %t", tc.reason, got)
			}
		})
	}
}

// A message need not name all machines and workers that are hit at the same time.
func TestTargetOfAMachine(t *testing.T) {
	both := target{hosts: []string{"demo-node-0-0", "demo-node-0-1"}, machine: "node1"}
	cases := map[string]string{
		"Worker 1 was lost (pod demo-node-0-1-x7x2p on machine node1)": "", "Worker 0 was lost": "machine node1", "a machine was lost": "Worker 0",
	}
	for message, want := range cases {
		if got := both.lacks(message); got != want {
			t.Errorf("lacks(%q) = %q, want %q", message, got, want)
		}
	}
}

func TestRightEnd(t *testing.T) {
	wantA := []mpi.Reason{"A"}
	cases := map[string]struct {
		reason string
		fault  Fault
		seen   seen
		want   bool
	}{
		"Ends":       {"by its fault", Fault{Want: wantA}, seen{reason: "A", final: true}, true},
		"EndsOther":  {"for another reason", Fault{Want: wantA}, seen{reason: "B", final: true}, false},
		"NeverEnds":  {"it must", Fault{Want: wantA}, seen{reason: "A"}, false},
		"Waits":      {"as it must", Fault{Want: wantA, Waits: true}, seen{reason: "A"}, true},
		"WaitsEnded": {"it must not", Fault{Want: wantA, Waits: true}, seen{reason: "A", final: true}, false},
		"Survives":   {"to its completion", Fault{}, seen{condition: trainer.TrainJobComplete, final: true}, true},
		"Dies":       {"and must not", Fault{}, seen{condition: trainer.TrainJobFailed, final: true}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (&attempt{fault: tc.fault}).rightEnd(tc.seen); got != tc.want {
				t.Errorf("%s: rightEnd = %t", tc.reason, got)
			}
		})
	}
}

// What breaks in the launch itself breaks differently in each implementation.
func TestEverywhere(t *testing.T) {
	var got []string
	for _, f := range everywhere(Fault{Name: "hang"}) {
		job := shaped(f, 1)
		got = append(got, f.Name+" "+job.Name+" "+job.Spec.RuntimeRef.Name)
	}
	want := []string{"hang fault-hang-ompi4-1 openmpi4-cpu", "hang for Open MPI 5 fault-hang-ompi5-1 openmpi5-cpu", "hang for MPICH fault-hang-mpich-1 mpich-cpu"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDocument(t *testing.T) {
	rows := []Row{
		{Fault: "a", Reason: "X", Right: true, Seconds: 1, Ended: "Failed", Want: []string{"X"}, How: "how | so", Message: "first\nsecond"},
		{Fault: "a", Reason: "X", Right: true, Seconds: 3, Ended: "Failed", Want: []string{"X"}, Leftovers: 1},
		{Fault: "a", Reason: "X", Right: true, Seconds: 2, Ended: "Failed", Want: []string{"X"}},
		{Fault: "b", Reason: "Y", Want: []string{"Z"}, Seconds: 60},
		{Fault: "c", Want: []string{"Complete"}, Condition: "Complete", Reason: "Completed", Right: true, Seconds: 9, Ended: "Complete"},
		{Fault: "d", Reason: "X", Right: true, Seconds: 2, Want: []string{"X"}, Ended: waits},
		{Fault: "e", Reason: "X", Seconds: 2, Want: []string{"X"}, Ended: "Failed", Message: "at first", EndReason: "W", EndMessage: "at last"},
	}
	got := document(rows, "A busy machine.")
	for _, line := range []string{
		"| a | how \\| so | X | Failed | 3 of 3 | 2.0 (3.0) | 1 |",
		"| b |  | Y | did not end | **0 of 1**, wanted Z | 60.0 (60.0) | 0 |",
		"| c |  | Complete | Complete | 1 of 1 | 9.0 (9.0) | 0 |",
		"| d |  | X | waits | 1 of 1 | 2.0 (2.0) | 0 |",
		"| e |  | X | Failed (W) | **0 of 1**, wanted X | 2.0 (2.0) | 0 |",
		"5 faults, 3 named rightly in every run; 1 leftovers. From the fault to its name: median 2.0 s, slowest 3.0 s.",
		"| a | first second |", "| e | at first<br>at last |", "A busy machine.",
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
