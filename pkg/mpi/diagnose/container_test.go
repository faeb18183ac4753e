package diagnose

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Programs of a job can write termination messages too, and what they say there becomes the reason of a condition, which the API
// server takes only as a word.
func TestVerdictsThatNoAgentWrote(t *testing.T) {
	forged := mpi.Verdict{Reason: "no reason!", Message: "so they say", ExitCode: 1}
	infrastructure := mpi.Verdict{Reason: MachineLost, Message: "so they say", ExitCode: 1}
	for name, tc := range map[string]struct {
		reason string
		pod    Pod
		want   mpi.Reason
		says   string
	}{
		"Launcher": {"what it says is told, under a reason that there is", launcher(said(t0, forged)), LauncherFailed, "so they say"},
		"Worker":   {"nobody but the launcher judges", worker(said(t0, infrastructure)), WorkerFailed, "container `node` exited with code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := First([]Pod{tc.pod}, nil); got.Reason != tc.want || !strings.Contains(got.Message, tc.says) || got.Remedy == "" {
				t.Errorf("%s: want %s with %q, got %+v", tc.reason, tc.want, tc.says, got)
			}
		})
	}
}
