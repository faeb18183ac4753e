package agent

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

func exited(code int) process.Status         { return process.Status(code << 8) }
func killed(s syscall.Signal) process.Status { return process.Status(s) }

func TestJudge(t *testing.T) {
	ran := mpi.NodeReport{Name: "w-0.demo", Daemons: 1}
	idle := mpi.NodeReport{Name: "w-1.demo"}
	cases := map[string]struct {
		reason string
		facts  facts
		want   mpi.Reason
		code   int
		words  string
	}{
		"success":          {"all nodes ran ranks", facts{reports: []mpi.NodeReport{ran}}, "", 0, ""},
		"no nodes":         {"the launcher is the only host", facts{}, "", 0, ""},
		"exit code":        {"a failed command needs no other reason", facts{status: exited(7), reports: []mpi.NodeReport{idle}}, mpi.ReasonCommandFailed, 7, "`mpirun x` exited with code 7"},
		"signal":           {"128+n", facts{status: killed(syscall.SIGSEGV)}, mpi.ReasonCommandKilled, 139, "was killed by SIGSEGV"},
		"signal of a rank": {"as mpirun reports it", facts{status: exited(139)}, mpi.ReasonCommandFailed, 139, "exited with code 139 (as after SIGSEGV)"},
		"code above":       {"no signal has this number", facts{status: exited(255)}, mpi.ReasonCommandFailed, 255, "exited with code 255"},
		"idle":             {"one of two", facts{reports: []mpi.NodeReport{ran, idle}}, mpi.ReasonWorldIncomplete, 0, "no rank ever ran on 1 of 2 nodes: w-1;"},
		"idle, allowed":    {"the user said so", facts{reports: []mpi.NodeReport{ran, idle}, allowIdle: true}, "", 0, ""},
		"killed daemon":    {"Open MPI 5 may exit 0", facts{reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, LastExitCode: 137}}}, mpi.ReasonWorldIncomplete, 0, "the launch daemon was killed on w-0"},
		"lost":             {"Open MPI 5 may exit 0", facts{reports: []mpi.NodeReport{ran}, losses: []loss{{"w-0.demo", "10.0.0.1", "connection lost"}}}, mpi.ReasonWorldIncomplete, 0, "w-0 (10.0.0.1): connection lost"},
		"silent":           {"nobody knows", facts{reports: []mpi.NodeReport{{Name: "w-0.demo", Error: "connection refused"}}, allowIdle: true}, mpi.ReasonWorldIncomplete, 0, "no report could be had from w-0 (connection refused)"},
		"OOM":              {"the cause behind an exit code", facts{status: exited(137), reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, OOMKills: 1}}}, mpi.ReasonCommandFailed, 137, "on w-0 the kernel killed a process for lack of memory"},
		"gone":             {"Open MPI 4 says only 205", facts{status: exited(205), reports: []mpi.NodeReport{ran, {Name: "w-1.demo", Error: "connection refused"}}}, mpi.ReasonCommandFailed, 205, "exited with code 205; no answer any more from w-1 (connection refused)"},
		"OOM, launcher":    {"the pod outlives its process, so kubelet says nothing", facts{status: killed(syscall.SIGKILL), oomKills: 2}, mpi.ReasonCommandKilled, 137, "was killed by SIGKILL; in the launcher's pod the kernel killed 2 processes for lack of memory"},
		"OOM, survived":    {"a child that the command did without", facts{reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, OOMKills: 1}}}, "", 0, ""},
		"lost and failed":  {"the first cause is named, MPI's own message blames libraries", facts{status: exited(1), losses: []loss{{"w-0.demo", "", "stopped answering"}, {"w-1.demo", "", "other"}}}, mpi.ReasonCommandFailed, 1, "exited with code 1; w-0: stopped answering"},
		"stopped":          {"eviction, preemption, deletion", facts{status: killed(syscall.SIGTERM), stopped: syscall.SIGTERM}, mpi.ReasonCommandKilled, 143, "the pod was asked to stop (SIGTERM)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.facts.argv = []string{"mpirun", "x"}
			got := judge(c.facts)
			if got.Reason != c.want || got.ExitCode != c.code || !strings.Contains(got.Message, c.words) || (got.Message == "") != (c.want == "") {
				t.Errorf("%s: got %+v", c.reason, got)
			}
			if diff := cmp.Diff(c.facts.reports, got.Nodes); diff != "" {
				t.Errorf("%s: reports: %s", c.reason, diff)
			}
		})
	}
}

func TestVerdictOfALargeJobFitsTheTerminationMessage(t *testing.T) {
	f := facts{argv: []string{"mpirun", strings.Repeat("é", 10_000)}, status: exited(1)}
	for i := range 1000 {
		f.reports = append(f.reports, mpi.NodeReport{Name: fmt.Sprintf("demo-node-0-%d.demo", i), Daemons: 1, OOMKills: 1})
	}
	text, err := judge(f).Encode()
	if err != nil || len(text) > mpi.MaxVerdictBytes {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	got, err := mpi.DecodeVerdict(string(text))
	if got.OOMKills != 1000 {
		t.Errorf("the reports that were cut counted for nothing: %d", got.OOMKills)
	}
	if err != nil || !strings.Contains(got.Message, "exited with code 1; on demo-node-0-0 the kernel killed") {
		t.Errorf("the message lost its substance: %q, %v", got.Message, err)
	}
}

func TestGateFailureNamesSomeNodesAndWhatToCheck(t *testing.T) {
	var failures []mpi.NodeFailure
	for i := range 100 {
		failures = append(failures, mpi.NodeFailure{Name: fmt.Sprintf("w-%d.demo", i), Address: "10.0.0.1", Error: "connection timed out"})
	}
	got := gateFailed(mpi.GateResult{Seconds: 300, Failures: failures}).Message
	want := "100 nodes did not answer within 300.0 s: w-0 (10.0.0.1): connection timed out; w-1 (10.0.0.1): connection timed out; " +
		"w-2 (10.0.0.1): connection timed out; and 97 more; check that a NetworkPolicy admits port 2222 between the pods of the job and that the node is healthy"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
