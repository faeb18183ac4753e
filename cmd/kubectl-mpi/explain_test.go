package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// TestExplain: every phase, reason and alert with a page is explained, without a cluster.
func TestExplain(t *testing.T) {
	c := clientOf(t, nil, interceptor.Funcs{})
	var names []string
	for _, p := range jobv1.AllPhases() {
		names = append(names, string(p))
	}
	for _, e := range diagnose.ReasonDocs() {
		names = append(names, string(e.Reason))
	}
	names = append(names, "MPIControllerDown", "MPIControllerErrors", "MPIControllerLeaderless", "MPIControllerSlow",
		"TrainJobMPIGangWaits", "TrainJobMPINodeBehind", "TrainJobMPIQueueStuck", "TrainJobMPIRestarted",
		"TrainJobMPIRestartsSpent")
	all := runFor(t, t.Context(), c, "explain", "-o", "name")
	if all.code != 0 || all.out != strings.Join(names, "\n")+"\n" {
		t.Errorf("%d: %s%s", all.code, all.out, all.errOut)
	}
	for _, name := range names {
		got := runFor(t, t.Context(), c, "explain", strings.ToLower(name))
		if got.code != 0 || !strings.HasPrefix(got.out, "# "+name+"\n") || strings.Contains(got.out, "<!--") || len(got.out) < len(name)+20 {
			t.Errorf("%s: %d, %s%s", name, got.code, got.out, got.errOut)
		}
	}
	for args, want := range map[string]string{
		"Failed: OOMKilled": "**What to do.** Raise the memory limit", "Pulling": "images are pulled",
		"TrainJobMPIRestarted": "kubectl mpi why JOB",
	} {
		if got := runFor(t, t.Context(), c, "explain", args); !strings.Contains(got.out, want) {
			t.Errorf("%s: %s%s", args, got.out, got.errOut)
		}
	}
	if got := runFor(t, t.Context(), c, "explain", "OOMKiled"); got.code != 2 || !strings.Contains(got.errOut, "did you mean `OOMKilled`?") {
		t.Errorf("%d, %s", got.code, got.errOut)
	}
}
