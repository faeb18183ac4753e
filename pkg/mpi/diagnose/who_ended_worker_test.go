package diagnose

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// toldToEnd are the words of launchers of real jobs, of which a rank sent SIGTERM to the agent or to all processes of its pod.
const toldToEnd = "Worker 1 was lost; the command `mpirun -n 4 bash -c …` exited with code 205; demo-node-0-1 (10.244.0.30): the launch daemon was told to end (SIGTERM), as when its pod is deleted or evicted, or when a process there sends it that"

// byAnybody are the ways to end an agent of which nothing else tells.
const byAnybody = "its agent was told to end (SIGTERM), and nobody had deleted or evicted the pod: its machine is being shut down, a liveness probe failed, or a process of the job"

// Who ended a worker decides whether the job is started again, and what its user looks at.
func TestWorkersEndedFromInside(t *testing.T) {
	const host = "demo-node-0-1.demo"
	lost := mpi.Verdict{
		Reason: WorkerLost, Message: toldToEnd + "; no answer any more from demo-node-0-1 (connection refused)", ExitCode: 205, Host: host, Lost: host,
		Nodes: []mpi.NodeReport{{Name: host, Error: "connection refused"}},
	}
	answers := lost
	answers.Message, answers.Nodes = toldToEnd, []mpi.NodeReport{{Name: host, Daemons: 1, LastExitCode: 143, DaemonAgo: 2}}
	broke := answers
	broke.Nodes = []mpi.NodeReport{{Name: host, Daemons: 1}}
	passed := answers
	passed.Nodes = []mpi.NodeReport{{Name: host, Daemons: 2, LastExitCode: 143}}
	stopped := answers
	stopped.Stopped = "SIGTERM"
	ends := func(at time.Time, code int) func(*Pod) {
		return func(pod *Pod) {
			pod.Containers = []Container{{Name: mpi.Container, End: &ContainerEnd{Code: code, Reason: "Completed", At: at}}}
		}
	}
	before := t0.Add(-2 * time.Second)
	for name, tc := range map[string]struct {
		reason  string
		verdict mpi.Verdict
		worker  Pod
		want    mpi.Reason
		says    string
	}{
		"Agent":       {"a machine that shuts down, and a probe that failed, send the same signal and say nothing", lost, worker(ends(before, 0)), WorkerLost, byAnybody},
		"CleanedUp":   {"JobSet deletes the pods of a failed job later", lost, worker(ends(before, 0), deletedAt(t0.Add(2*time.Second))), WorkerLost, byAnybody},
		"Both":        {"an agent that answered was told to end later, whatever the clock of its machine says", answers, worker(ends(before, 0), deletedAt(t0.Add(2*time.Second))), WorkerKilled, "a process of the job sent the daemon"},
		"Deleted":     {"kubelet passes a deletion on as SIGTERM", lost, worker(ends(t0, 0), deletedAt(before)), PodDeleted, "was deleted"},
		"Evicted":     {"", lost, worker(ends(before, 0), status("Evicted", "low on memory"), func(pod *Pod) { pod.Failed = true }), Evicted, "low on memory"},
		"Preempted":   {"", lost, worker(ends(before, 0), disruptedBy("PreemptionByScheduler")), Preempted, ""},
		"Running":     {"nothing says yet why it does not answer", lost, worker(), WorkerLost, "connection refused"},
		"Daemon":      {"its agent lives, and did not send it", answers, worker(), WorkerKilled, "its agent was not told to end, so nobody deleted or evicted the pod"},
		"Gone":        {"the pod need not be there to know that", answers, Pod{}, WorkerKilled, "its agent was not told to end"},
		"Connection":  {"an agent that loses the launcher ends the daemon itself", broke, worker(), WorkerLost, ""},
		"Earlier":     {"the daemon of another launch, which the command passed over", passed, worker(), WorkerLost, ""},
		"WholeJob":    {"who stops the launcher stops all of it", stopped, worker(), WorkerLost, ""},
		"OtherReason": {"", mpi.Verdict{Reason: RankKilled, Message: "Worker 1 failed", ExitCode: 1, Host: host}, worker(ends(before, 0)), RankKilled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := FirstCause([]Pod{launcher(said(t0, tc.verdict)), tc.worker}, nil)
			if got.Reason != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: want %s with %q, got %s: %s", tc.reason, tc.want, tc.says, got.Reason, got.Text())
			}
			if got.Reason == WorkerKilled && (got.IsFinal() || got.IsInfrastructure()) {
				t.Error("whoever ends their own worker would do it again")
			}
			if shown := got.Reason == WorkerKilled || tc.says == byAnybody; shown && (!got.MayBeEviction() || got.IsProvisional()) {
				t.Error("an event may tell of an eviction, and the pod that shows it is gone in a moment")
			}
			if got.Reason == WorkerLost && (!got.IsInfrastructure() || !strings.Contains(got.Remedy, "livenessProbe")) {
				t.Errorf("it may have been the platform, and each of the ways is to be looked at: %s", got.Text())
			}
		})
	}
}

// Clocks of machines may be behind that of the API server, which deleted all of these.
func TestAWorkerThatWasDeletedFirstWasNotEndedFromInside(t *testing.T) {
	const host = "demo-node-0-1.demo"
	lost := mpi.Verdict{Reason: WorkerLost, Message: toldToEnd, ExitCode: 205, Host: host, Lost: host, Nodes: []mpi.NodeReport{{Name: host, Error: "connection refused"}}}
	gone := worker(died(t0.Add(-4*time.Second), ContainerEnd{Reason: "Completed"}), deletedAt(t0.Add(-2*time.Second)))
	gone.Failed = false
	for name, tc := range map[string]struct {
		other Pod
		want  bool
	}{
		"Alone":  {worker(called("demo-node-0-0-a2b3c", 0)), false},
		"Before": {worker(called("demo-node-0-0-a2b3c", 0), deletedAt(t0)), false},
		"WithIt": {worker(called("demo-node-0-0-a2b3c", 0), deletedAt(t0.Add(-2*time.Second))), true},
	} {
		if got := FirstCause([]Pod{launcher(said(t0.Add(-3*time.Second), lost)), gone, tc.other}, nil); got.Reason != WorkerLost || strings.Contains(got.Message, byAnybody) != tc.want {
			t.Errorf("%s: nobody had deleted it: want %t, got %s: %s", name, tc.want, got.Reason, got.Message)
		}
	}
}

// A machine that is started again ends the agents of all its pods, and so do several machines; what of it reaches the API server is one
// agent or more.
func TestAgentsOfAMachineThatShutsDown(t *testing.T) {
	const host = "demo-node-0-1.demo"
	lost := mpi.Verdict{Reason: WorkerLost, Message: toldToEnd, ExitCode: 205, Host: host, Lost: host, Nodes: []mpi.NodeReport{{Name: host, Error: "connection refused"}}}
	ended := func(pod *Pod) {
		pod.Containers = []Container{{Name: mpi.Container, End: &ContainerEnd{Reason: "Completed", At: t0.Add(-time.Second)}}}
	}
	other := called("demo-node-0-0-a2b3c", 0)
	elsewhere := func(pod *Pod) { pod.Machine = "m4" }
	for name, second := range map[string]Pod{
		"All": worker(other, ended), "OneIsKnown": worker(other), "OtherMachine": worker(other, elsewhere), "OtherMachines": worker(other, elsewhere, ended),
	} {
		got := FirstCause([]Pod{launcher(said(t0, lost)), worker(ended), second}, nil)
		if got.Reason != WorkerLost || !got.IsInfrastructure() || got.IsProvisional() || !strings.Contains(got.Message, byAnybody) {
			t.Errorf("%s: the job is to be started again, and its user told of both: %s: %s", name, got.Reason, got.Text())
		}
	}
}

// kubelet's words of a container whose agent is hidden by a volume.
const hidden128 = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: \"/opt/lockstep/bin/mpi-agent\": stat /opt/lockstep/bin/mpi-agent: no such file or directory"

// There is no log of a program that was never started.
func TestContainersThatCannotStart(t *testing.T) {
	end := ContainerEnd{Code: 128, Reason: "StartError", Message: hidden128 + "\nAPI_TOKEN=abc"}
	inInit := func(pod *Pod) {
		pod.Failed = true
		pod.Containers = []Container{{Name: "gate", Init: true, End: &end}}
	}
	for name, tc := range map[string]struct {
		pod  Pod
		says string
	}{
		"Launcher": {launcher(died(t0, end)), "Launcher (pod demo-launcher-0-0-x7x2p on machine m0): container `node` could not be started: " + hidden128 + " API_TOKEN=***"},
		"Worker":   {worker(died(t0, end)), "Worker 1 (pod demo-node-0-1-x7x2p on machine m3): container `node` could not be started: failed to create"},
		"Init":     {launcher(inInit), "container `gate` could not be started: failed to create"},
		"NoWords":  {worker(died(t0, ContainerEnd{Code: 127, Reason: "ContainerCannotRun"})), "container `node` could not be started"},
	} {
		t.Run(name, func(t *testing.T) {
			got := FirstCause([]Pod{tc.pod}, nil)
			if got.Reason != ContainerStartFailed || !strings.Contains(got.Message, tc.says) || strings.Contains(got.Remedy, "read the log") {
				t.Errorf("want %q, got %s: %s", tc.says, got.Reason, got.Text())
			}
		})
	}
	end.Message = strings.Repeat("x ", LinesBytes)
	if got := FirstCause([]Pod{worker(died(t0, end))}, nil); len(got.Message) > LinesBytes+200 {
		t.Errorf("a condition has no room for %d bytes", len(got.Message))
	}
}
