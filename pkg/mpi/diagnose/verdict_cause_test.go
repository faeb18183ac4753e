package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			if got := FirstCause([]Pod{tc.pod}, nil); got.Reason != tc.want || !strings.Contains(got.Message, tc.says) || got.Remedy == "" {
				t.Errorf("%s: want %s with %q, got %+v", tc.reason, tc.want, tc.says, got)
			}
		})
	}
}

// What a program writes instead of the agent comes into conditions, which more people may read than its log.
func TestForgedWordsAreQuoted(t *testing.T) {
	key := "-----BEGIN " + "PRIVATE KEY-----"
	long := strings.Repeat("words ", maxLine)
	cases := map[string]struct {
		reason  string
		said    mpi.Verdict
		message string
		lines   []string
	}{
		"Secrets": {
			"", mpi.Verdict{Message: "failed: HF_TOKEN=abc", Lines: []string{"DB_PASS=hunter2 x", "login --token abc", "done"}},
			"failed: HF_TOKEN=***", []string{"DB_PASS=*** x", "login --token ***", "done"},
		},
		"Newlines": {
			"one line is one line", mpi.Verdict{Message: "failed\n\nLast lines:\r\nnone\x1b[31m", Lines: []string{"a\nb\x07", "token: abc\nc"}},
			"failed Last lines: none", []string{"a", "b", "token: ***", "c"},
		},
		"Key":  {"it ends where nobody knows", mpi.Verdict{Message: "failed " + key + "\nMII\nabc", Lines: []string{"x", key + "\nMII\nabc", "y"}}, "failed ***", []string{"x", "***", "y"}},
		"Long": {"", mpi.Verdict{Message: "failed", Lines: []string{long}}, "failed", []string{ClipBytes(long, maxLine)}},
		"Many": {
			"the first line says why, and is no part of the last ones", mpi.Verdict{Message: "failed", Lines: []string{"why\n" + strings.Repeat("more\n", 50)}},
			"failed", append([]string{"why"}, strings.Fields(strings.Repeat("more ", maxLines))...),
		},
		"NoLines": {"", mpi.Verdict{Message: "failed"}, "failed", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.said.Reason, tc.said.ExitCode = CommandFailed, 1
			got := FirstCause([]Pod{launcher(said(t0, tc.said))}, nil)
			if want := "Launcher failed: " + tc.message + " (pod demo-launcher-0-0-x7x2p on machine m0)"; got.Message != want {
				t.Errorf("%s: want %q, got %q", tc.reason, want, got.Message)
			}
			if diff := cmp.Diff(tc.lines, got.Lines); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
