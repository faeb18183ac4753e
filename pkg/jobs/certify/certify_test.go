package certify_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/jobs/certify"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/probe"
)

var (
	one    = "sha256:" + strings.Repeat("1", 64)
	other  = "sha256:" + strings.Repeat("2", 64)
	tested = "sha256:" + strings.Repeat("f", 64)
)

func evidence() certify.Evidence {
	return certify.Evidence{
		Runtime: "openmpi5-cpu", By: "jane", Before: tested, After: tested, Nodes: 2, Digests: []string{one}, Now: time.Date(2026, 11, 26, 23, 30, 0, 0, time.UTC),
		Report: certify.Report{
			OK: true, Ranks: []certify.Rank{{Host: "a"}, {Host: "a"}, {Host: "b"}, {Host: "b"}},
			BetweenHosts: &certify.Summary{Pairs: 4, RoundTripMedian: 66.5, BandwidthMedian: 5668.4, BandwidthSlowest: 4607.8},
		},
	}
}

func TestCommand(t *testing.T) {
	got := certify.Command(4, certify.Limits{For: 5 * time.Second, MaxRoundTrip: 200 * time.Microsecond, MinBandwidth: 9000})
	want := "mpirun -n 4 mpi-agent probe -o json --ranks 4 --for 5s --timeout 1m5s --max-round-trip 200µs --min-bandwidth 9000"
	if strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
}

// TestReportOf: what the agent writes is read, and what launchers print around it is passed over.
func TestReportOf(t *testing.T) {
	between := probe.Summary{
		Pairs: 4, RoundTripMedian: 1, RoundTripWorst: 2, BandwidthMedian: 4, BandwidthSlowest: 3, SlowestFrom: 1, SlowestTo: 2, RoundTripWorstOf: [2]int{0, 3},
	}
	text, err := json.Marshal(probe.Report{Schema: probe.Schema, OK: true, Problems: []string{"x"}, Ranks: []probe.Rank{{Host: "a"}}, BetweenHosts: &between})
	if err != nil {
		t.Fatal(err)
	}
	want := &certify.Report{OK: true, Problems: []string{"x"}, Ranks: []certify.Rank{{Host: "a"}}, BetweenHosts: &certify.Summary{
		Pairs: 4, RoundTripMedian: 1, RoundTripWorst: 2, BandwidthMedian: 4, BandwidthSlowest: 3, SlowestFrom: 1, SlowestTo: 2, RoundTripWorstOf: [2]int{0, 3},
	}}
	for _, log := range []string{string(text), "a warning\n[1,0]<stdout>:" + string(text) + "\r\nthe end\n", "{\"schema\":\"" + probe.Schema + "\", torn\n" + string(text)} {
		if diff := cmp.Diff(want, certify.ReportOf(log)); diff != "" {
			t.Errorf("%q: %s", log, diff)
		}
	}
	if got := certify.ReportOf("mpirun: not found\n"); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestImageDigests(t *testing.T) {
	pod := func(container, id string) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, ImageID: id}}}}
	}
	got := certify.ImageDigests([]corev1.Pod{
		pod(mpi.Container, "registry.example.com/mpi@"+other), pod(mpi.Container, one), pod(mpi.Container, ""), pod("sidecar", tested), pod(mpi.Container, one),
	})
	if diff := cmp.Diff([]string{one, other}, got); diff != "" {
		t.Error(diff)
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*certify.Evidence)
		want   string
	}{
		"none":         {func(*certify.Evidence) {}, ""},
		"of the probe": {func(e *certify.Evidence) { e.Report.Problems = []string{"3 ranks ran, 4 were expected"} }, "3 ranks ran"},
		"one node":     {func(e *certify.Evidence) { e.Report.Ranks, e.Report.BetweenHosts = e.Report.Ranks[:2], nil }, "all ranks on 1 of 2 nodes"},
		"no pair":      {func(e *certify.Evidence) { e.Report.BetweenHosts = nil }, "no pair"},
		"no image":     {func(e *certify.Evidence) { e.Digests = nil }, "does not say which image"},
		"two images":   {func(e *certify.Evidence) { e.Digests = []string{one, other} }, "different images"},
		"changed":      {func(e *certify.Evidence) { e.After = other }, "was changed while"},
	} {
		e := evidence()
		c.change(&e)
		got := e.Problems()
		if (len(got) == 0) != (c.want == "") || len(got) > 1 || !strings.Contains(strings.Join(got, ""), c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestStanza: what people are to commit is what the compiler reads, whoever they are, and lacks nothing.
func TestStanza(t *testing.T) {
	for _, by := range []string{"jane", "system:serviceaccount:ci:certify", "oidc:#jane: \"x\"", "true", "*"} {
		e := evidence()
		e.By = by
		want := e.Certification()
		if v := reflect.ValueOf(want); by == "jane" {
			for i := range v.NumField() {
				if v.Field(i).IsZero() {
					t.Errorf("%s is empty", v.Type().Field(i).Name)
				}
			}
		}
		text := "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: lab\nspec:\n  platform: Kubernetes\n  version: \"1.36\"\n  agent: {image: \"example.org/agent:1\"}\n" + certify.Stanza(want)
		list := &diag.List{}
		read := decode.Files([]*source.File{source.NewFile("overlays/lab/cluster.yaml", []byte(text))}, list)
		if list.Errors() > 0 {
			t.Fatalf("%s\n%s", text, list.Sorted()[0].Message)
		}
		if diff := cmp.Diff([]v1alpha1.Certification{want}, read[0].Spec.(*v1alpha1.Cluster).Spec.Certified); diff != "" {
			t.Error(diff)
		}
	}
	if c := evidence().Certification(); c.RoundTripMicroseconds != 67 || c.SlowestMbps != 4608 || c.Date != "2026-11-26" {
		t.Errorf("%+v", c)
	}
}

// A result that is longer than what is read as one line arrives in parts.
func TestReadReport(t *testing.T) {
	const text = `{"schema":"lockstep.dev/probe/v1","ok":true,"pairs":[{"from":0,"to":1,"roundTrip":{"median":9.5}}]}`
	got, err := certify.ReadReport(func(take func([]logs.Line) error) error {
		if err := take([]logs.Line{{Raw: "a word of the launcher"}, {Raw: "[1,0]: " + text[:40]}}); err != nil {
			return err
		}
		return take([]logs.Line{{Raw: text[40:], Continued: true}})
	})
	if err != nil || got == nil || len(got.Pairs) != 1 || got.Pairs[0].RoundTrip.Median != 9.5 {
		t.Errorf("%v %+v", err, got)
	}
}

func TestAddProbe(t *testing.T) {
	job := &trainer.TrainJob{}
	if err := certify.AddProbe(job, mpi.World{Nodes: 2, SlotsPerNode: 2}, certify.Limits{For: time.Second}); err != nil {
		t.Fatal(err)
	}
	if command := strings.Join(job.Spec.Trainer.Command, " "); !strings.Contains(command, "--ranks 4 --for 1s") {
		t.Error(command)
	}
	err := certify.AddProbe(job, mpi.World{Nodes: 100, SlotsPerNode: 8}, certify.Limits{})
	if err == nil || !strings.Contains(err.Error(), "at most 128 ranks, and 100 nodes with 8 slots have 800") {
		t.Error(err)
	}
}
