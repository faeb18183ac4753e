package diagnose

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// toldToEnd are the words of launchers of real jobs, of which a rank sent SIGTERM to the agent or to all processes of its pod.
const toldToEnd = "Worker 1 was lost; the command `mpirun -n 4 bash -c …` exited with code 205; demo-node-0-1 (10.244.0.30): the launch daemon was told to end (SIGTERM), as when its pod is deleted or evicted, or when a process there sends it that"

// Who ended a worker decides whether the job is started again, and what its user looks at.
func TestWorkersEndedFromInside(t *testing.T) {
	const host = "demo-node-0-1.demo"
	lost := mpi.Verdict{
		Reason: WorkerLost, Message: toldToEnd + "; no answer any more from demo-node-0-1 (connection refused)", ExitCode: 205, Host: host, Lost: host,
		Nodes: []mpi.NodeReport{{Name: host, Error: "connection refused"}},
	}
	answers := lost
	answers.Message, answers.Nodes = toldToEnd, []mpi.NodeReport{{Name: host, Daemons: 1, LastExitCode: 143}}
	broke := answers
	broke.Nodes = []mpi.NodeReport{{Name: host, Daemons: 1}}
	stopped := answers
	stopped.Stopped = "SIGTERM"
	ends := func(at time.Time, code int) func(*Pod) {
		return func(pod *Pod) {
			pod.Containers = []Container{{Name: mpi.Container, End: &End{Code: code, Reason: "Completed", At: at}}}
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
		"Agent":       {"an agent ends by itself only when it is told to", lost, worker(ends(before, 0)), WorkerKilled, "nobody had deleted or evicted the pod: a process of the job sent it SIGTERM"},
		"CleanedUp":   {"JobSet deletes the pods of a failed job later", lost, worker(ends(before, 0), deletedAt(t0.Add(2*time.Second))), WorkerKilled, "a process of the job"},
		"Deleted":     {"kubelet passes a deletion on as SIGTERM", lost, worker(ends(t0, 0), deletedAt(before)), PodDeleted, "was deleted"},
		"Evicted":     {"", lost, worker(ends(before, 0), status("Evicted", "low on memory"), func(pod *Pod) { pod.Failed = true }), Evicted, "low on memory"},
		"Preempted":   {"", lost, worker(ends(before, 0), disruptedBy("PreemptionByScheduler")), Preempted, ""},
		"Running":     {"nothing says yet why it does not answer", lost, worker(), WorkerLost, "connection refused"},
		"Daemon":      {"its agent lives, and did not send it", answers, worker(), WorkerKilled, "its agent was not told to end, so nobody deleted or evicted the pod"},
		"Gone":        {"the pod need not be there to know that", answers, Pod{}, WorkerKilled, "its agent was not told to end"},
		"Connection":  {"an agent that loses the launcher ends the daemon itself", broke, worker(), WorkerLost, ""},
		"WholeJob":    {"who stops the launcher stops all of it", stopped, worker(), WorkerLost, ""},
		"OtherReason": {"", mpi.Verdict{Reason: RankKilled, Message: "Worker 1 failed", ExitCode: 1, Host: host}, worker(ends(before, 0)), RankKilled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := First([]Pod{launcher(said(t0, tc.verdict)), tc.worker}, nil)
			if got.Reason != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: want %s with %q, got %s: %s", tc.reason, tc.want, tc.says, got.Reason, got.Text())
			}
			if got.Reason == WorkerKilled && (!got.Contested() || got.Provisional() || got.Certain() || got.Infrastructure()) {
				t.Error("an event may tell of an eviction, the pod that shows it is gone in a moment, and whoever ends his own worker would do it again")
			}
		})
	}
}

// Clocks of machines may be behind that of the API server, which deleted all of these.
func TestAWorkerThatWasDeletedFirstWasNotEndedFromInside(t *testing.T) {
	const host = "demo-node-0-1.demo"
	lost := mpi.Verdict{Reason: WorkerLost, Message: toldToEnd, ExitCode: 205, Host: host, Lost: host, Nodes: []mpi.NodeReport{{Name: host, Error: "connection refused"}}}
	gone := worker(died(t0.Add(-4*time.Second), End{Reason: "Completed"}), deletedAt(t0.Add(-2*time.Second)))
	gone.Failed = false
	for name, tc := range map[string]struct {
		other Pod
		want  mpi.Reason
	}{
		"Alone":  {worker(called("demo-node-0-0-a2b3c", 0)), WorkerLost},
		"Before": {worker(called("demo-node-0-0-a2b3c", 0), deletedAt(t0)), WorkerLost},
		"WithIt": {worker(called("demo-node-0-0-a2b3c", 0), deletedAt(t0.Add(-2*time.Second))), WorkerKilled},
	} {
		if got := First([]Pod{launcher(said(t0.Add(-3*time.Second), lost)), gone, tc.other}, nil); got.Reason != tc.want {
			t.Errorf("%s: want %s, got %s: %s", name, tc.want, got.Reason, got.Message)
		}
	}
}

// kubelet's words of a container whose agent is hidden by a volume.
const hidden128 = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: \"/opt/lockstep/bin/mpi-agent\": stat /opt/lockstep/bin/mpi-agent: no such file or directory"

// There is no log of a program that was never started.
func TestContainersThatCannotStart(t *testing.T) {
	end := End{Code: 128, Reason: "StartError", Message: hidden128 + "\nAPI_TOKEN=abc"}
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
		"NoWords":  {worker(died(t0, End{Code: 127, Reason: "ContainerCannotRun"})), "container `node` could not be started"},
	} {
		t.Run(name, func(t *testing.T) {
			got := First([]Pod{tc.pod}, nil)
			if got.Reason != ContainerStartFailed || !strings.Contains(got.Message, tc.says) || strings.Contains(got.Remedy, "read the log") {
				t.Errorf("want %q, got %s: %s", tc.says, got.Reason, got.Text())
			}
		})
	}
	end.Message = strings.Repeat("x ", LinesBytes)
	if got := First([]Pod{worker(died(t0, end))}, nil); len(got.Message) > LinesBytes+200 {
		t.Errorf("a condition has no room for %d bytes", len(got.Message))
	}
}
