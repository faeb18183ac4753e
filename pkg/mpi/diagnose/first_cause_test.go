package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func launcher(edits ...func(*Pod)) Pod {
	return edited(Pod{Name: "demo-launcher-0-0-x7x2p", Role: mpi.LauncherJob, Machine: "m0", Started: t0.Add(-time.Minute)}, edits)
}

func worker(edits ...func(*Pod)) Pod {
	return edited(Pod{Name: "demo-node-0-1-x7x2p", Role: mpi.NodeJob, Index: 1, Machine: "m3", Started: t0.Add(-time.Minute)}, edits)
}

func edited(pod Pod, edits []func(*Pod)) Pod {
	for _, edit := range edits {
		edit(&pod)
	}
	return pod
}

func died(at time.Time, end ContainerEnd) func(*Pod) {
	return func(pod *Pod) {
		end.At = at
		pod.Failed = true
		pod.Containers = append(pod.Containers, Container{Name: mpi.Container, End: &end})
	}
}

func said(at time.Time, verdict mpi.Verdict) func(*Pod) {
	text, err := verdict.Encode()
	if err != nil {
		panic(err)
	}
	return died(at, ContainerEnd{Code: max(verdict.ExitCode, 1), Reason: "Error", Message: string(text)})
}

func givenUp(pod *Pod) { pod.GivenUp = true }

func deletedAt(at time.Time) func(*Pod) { return func(pod *Pod) { pod.Deleted = at } }

func called(name string, index int) func(*Pod) {
	return func(pod *Pod) { pod.Name, pod.Index = name, index }
}

func disruptedBy(reason string) func(*Pod) {
	return func(pod *Pod) { pod.Disruption = &Disruption{reason, "said by the control plane", t0} }
}

func status(reason, message string) func(*Pod) {
	return func(pod *Pod) { pod.Failed, pod.Reason, pod.Message = true, reason, message }
}

func initDied(pod *Pod) {
	pod.Failed = true
	pod.Containers = []Container{{Name: "ok", Init: true, End: &ContainerEnd{}}, {Name: "install-agent", Init: true, End: &ContainerEnd{Code: 1, Reason: "Error", At: t0}}}
}

type firstCase struct {
	reason string
	pods   []Pod
	noted  []Cause
	want   mpi.Reason
	says   string
}

func firstCases() map[string]firstCase {
	before, after := t0.Add(-time.Second), t0.Add(time.Second)
	five := 5
	exit7 := mpi.Verdict{Reason: CommandFailed, Message: "the command `train` exited with code 7", ExitCode: 7}
	lost := mpi.Verdict{Reason: WorkerLost, Message: "Worker 1 failed: connection lost", ExitCode: 1, Lost: "demo-node-0-1.demo"}
	ended := lost
	ended.Message = "Worker 1 was lost; the command `train` exited with code 205"
	silent := lost
	silent.LostSeconds = 7.2
	stopped := mpi.Verdict{Reason: CommandKilled, Message: "the pod was asked to stop (SIGTERM)", ExitCode: 143, Stopped: "SIGTERM"}
	cuda := mpi.Verdict{
		Reason: CUDAOutOfMemory, Message: "Worker 1 failed: CUDA out of memory (rank 5 exited with code 1)", ExitCode: 1, Host: "demo-node-0-1.demo",
		Rank: &mpi.RankEnd{Rank: &five, Host: "demo-node-0-1.demo", Code: 1}, Lines: []string{"RuntimeError: CUDA out of memory"},
	}
	oom := mpi.Verdict{Reason: RankKilled, Message: "Worker 1 failed", ExitCode: 137, OOMKills: 1}
	kill := ContainerEnd{Code: 137, Reason: "Error"}

	return map[string]firstCase{
		"verdict": {"the agent has all the facts", []Pod{launcher(said(t0, exit7))}, nil, CommandFailed, "Launcher failed: the command `train` exited with code 7 (pod demo-launcher-0-0-x7x2p on machine m0)"},
		"rank":    {"the pod of the rank is named, not that of the launcher", []Pod{launcher(said(t0, cuda)), worker()}, nil, CUDAOutOfMemory, "Worker 1 failed: CUDA out of memory (rank 5 exited with code 1) (pod demo-node-0-1-x7x2p on machine m3)"},
		"rank of a lost pod": {
			"the launcher is not to blame", []Pod{launcher(said(t0, cuda))}, nil, CUDAOutOfMemory,
			"Worker 1 failed: CUDA out of memory (rank 5 exited with code 1). What to do: ",
		},
		"OOM over exit code": {"what the kernel did is behind what the command did", []Pod{launcher(said(t0, oom))}, nil, OOMKilled, "Launcher failed: the kernel killed a process of the job for lack of memory; Worker 1 failed"},
		"no words":           {"", []Pod{launcher(said(t0, mpi.Verdict{Reason: CommandFailed, ExitCode: 4}))}, nil, CommandFailed, "exited with code 4"},
		"no verdict":         {"there is still an exit code", []Pod{launcher(died(t0, ContainerEnd{Code: 3, Reason: "Error", Message: "not json"}))}, nil, LauncherFailed, "Launcher (pod demo-launcher-0-0-x7x2p on machine m0) failed: container `node` exited with code 3"},
		"lying verdict":      {"success does not explain a failed container", []Pod{launcher(said(t0, mpi.Verdict{}))}, nil, LauncherFailed, "exited with code 1"},
		"launcher killed":    {"", []Pod{launcher(died(t0, kill))}, nil, LauncherKilled, "was killed by SIGKILL"},
		"worker killed":      {"", []Pod{worker(died(t0, kill))}, nil, WorkerKilled, "Worker 1 (pod demo-node-0-1-x7x2p on machine m3) failed: container `node` was killed by SIGKILL"},
		"worker alone":       {"no log of a launcher that never ran", []Pod{launcher(waitingFor("PodInitializing", "")), worker(died(t0, ContainerEnd{Code: 1, Message: "no hostkeys available\n"}))}, nil, WorkerFailed, "What to do: `kubectl logs demo-node-0-1-x7x2p -c node` shows why it ended, while the pod exists; the launcher never ran\nLast lines:\nno hostkeys available"},
		"worker, launcher":   {"", []Pod{launcher(func(pod *Pod) { pod.Containers = []Container{{Name: mpi.Container}} }), worker(died(t0, ContainerEnd{Code: 1}))}, nil, WorkerFailed, "read the log of the launcher"},
		"worker over":        {"its last lines say why", []Pod{worker(died(t0, ContainerEnd{Code: 1, Message: "no hostkeys available"}), deletedAt(t0), givenUp)}, nil, WorkerFailed, "exited with code 1 each time that it was started, until its Job gave up. What to do: `kubectl logs demo-node-0-1-x7x2p -c node --previous`"},
		"cannot start":       {"the words are kubelet's", []Pod{worker(died(t0, ContainerEnd{Code: 128, Reason: "StartError", Message: "no such file"}))}, nil, ContainerStartFailed, "container `node` could not be started: no such file"},
		"long argument":      {"", []Pod{worker(died(t0, ContainerEnd{Code: 128, Reason: "StartError", Message: `failed to start container: exec: "sh": argument list too long: unknown`}))}, nil, ArgumentTooLong, "argument list too long: unknown. What to do: put long texts into a file"},
		"signal of runtime":  {"", []Pod{worker(died(t0, ContainerEnd{Signal: 11}))}, nil, WorkerKilled, "SIGSEGV"},
		"OOM by kubelet":     {"", []Pod{worker(died(t0, ContainerEnd{Code: 137, Reason: "OOMKilled"}))}, nil, OOMKilled, "was killed by SIGKILL (OOMKilled)"},
		"OOM at its limit": {"", []Pod{worker(died(t0, ContainerEnd{Code: 137, Reason: "OOMKilled"}), func(p *Pod) {
			p.Containers[0].MemoryLimit = "4Gi"
		})}, nil, OOMKilled, "(OOMKilled) at its memory limit of 4Gi. What to do"},
		"worker first":        {"the launcher failed because a node did", []Pod{launcher(said(t0, exit7)), worker(died(before, kill))}, nil, WorkerKilled, ""},
		"same second":         {"times have no fractions; nodes do not fail because of the launcher", []Pod{launcher(said(t0, exit7)), worker(died(t0.Add(900*time.Millisecond), ContainerEnd{Code: 1}))}, nil, WorkerFailed, ""},
		"launcher first":      {"a node that ended later ended because of the launcher", []Pod{launcher(said(before, exit7)), worker(died(t0, ContainerEnd{Code: 1}))}, nil, CommandFailed, ""},
		"kubelet over lost":   {"the pod says why its connection was lost", []Pod{launcher(said(t0, lost)), worker(died(t0, ContainerEnd{Code: 137, Reason: "OOMKilled"}))}, nil, OOMKilled, ""},
		"lost":                {"nobody knows more than the launcher", []Pod{launcher(said(t0, lost)), worker()}, nil, WorkerLost, "Worker 1 failed: connection lost (pod demo-node-0-1-x7x2p on machine m3)"},
		"cleaned up":          {"JobSet deletes the nodes of a failed job: that is no cause", []Pod{launcher(said(t0, exit7)), worker(deletedAt(t0), died(before, ContainerEnd{Code: 143}))}, nil, CommandFailed, ""},
		"cleaned up, skewed":  {"the clock of the API server may be behind", []Pod{launcher(said(t0, exit7)), worker(deletedAt(t0.Add(-3 * time.Second)))}, nil, CommandFailed, ""},
		"launcher cleaned up": {"a launcher that is being deleted may still carry the verdict", []Pod{launcher(deletedAt(after), said(t0, exit7))}, nil, CommandFailed, ""},
		"deleted":             {"known by name, over the connection that was lost by it", []Pod{launcher(said(t0, lost)), worker(deletedAt(t0))}, nil, PodDeleted, "Worker 1 (pod demo-node-0-1-x7x2p on machine m3) was deleted while the job ran"},
		"ended by SIGTERM":    {"nothing tells by whom", []Pod{launcher(said(t0, ended)), worker(died(before, ContainerEnd{Reason: "Completed"}), func(pod *Pod) { pod.Failed = false })}, nil, WorkerLost, "its agent was told to end (SIGTERM)"},
		"lost, cleaned up":    {"JobSet deletes the nodes of a launcher that lost one of them", []Pod{launcher(said(before, lost)), worker(deletedAt(t0))}, nil, WorkerLost, "Worker 1 failed: connection lost"},
		"silent, cleaned up":  {"a node that had been silent before it was deleted in the second in which the launcher gave it up", []Pod{launcher(said(t0, silent)), worker(deletedAt(t0))}, nil, WorkerLost, "Worker 1"},
		"other cleaned up":    {"a healthy node beside the lost one", []Pod{launcher(said(t0, lost)), worker(), worker(called("demo-node-0-0-y7y3q", 0), deletedAt(t0))}, nil, WorkerLost, "demo-node-0-1-x7x2p on machine m3"},
		"deleted long before": {"", []Pod{launcher(said(t0, exit7)), worker(deletedAt(t0.Add(-10 * time.Second)))}, nil, PodDeleted, "Worker 1"},
		"launcher deleted":    {"its agent says only that it was told to stop", []Pod{launcher(deletedAt(before), said(t0, stopped)), worker()}, nil, PodDeleted, "Launcher (pod demo-launcher-0-0-x7x2p on machine m0) was deleted"},
		"stopped":             {"by whom, nobody knows", []Pod{launcher(said(t0, stopped)), worker()}, nil, CommandKilled, "asked to stop"},
		"remembered":          {"the pod is gone, what was seen of it counts", []Pod{launcher(said(before, lost))}, []Cause{NotedEarlier(Cause{Reason: PodDeleted, Message: "Worker 1 was deleted"}, t0)}, PodDeleted, "Worker 1 was deleted"},
		"remembered first":    {"its Job gave up, and JobSet deleted the others before the launcher, or a pass, had noticed", []Pod{launcher(deletedAt(t0), said(t0, stopped)), worker(deletedAt(t0))}, []Cause{NotedEarlier(Cause{Reason: PodDeleted, Message: "Worker 0 was deleted"}, t0.Add(time.Second))}, PodDeleted, "Worker 0 was deleted"},
		"remembered eviction": {"", []Pod{launcher(said(t0, lost))}, []Cause{NotedEarlier(Cause{Reason: Evicted, Message: "Worker 1 was evicted"}, t0)}, Evicted, ""},
		"preempted":           {"", []Pod{launcher(said(before, lost)), worker(deletedAt(t0), disruptedBy("PreemptionByScheduler"))}, nil, Preempted, "Worker 1 (pod demo-node-0-1-x7x2p on machine m3) was preempted: said by the control plane"},
		"evicted by API":      {"", []Pod{worker(deletedAt(t0), disruptedBy("EvictionByEvictionAPI"))}, nil, Evicted, "was evicted"},
		"machine lost":        {"over the connection that was lost by it", []Pod{launcher(said(before, lost)), worker(deletedAt(t0), disruptedBy("DeletionByTaintManager"))}, nil, MachineLost, "on machine m3) lost its machine"},
		"garbage":             {"", []Pod{worker(disruptedBy("DeletionByPodGC"))}, nil, MachineLost, ""},
		"evicted by kubelet":  {"disk or memory of the machine", []Pod{worker(status("Evicted", "The node was low on resource: ephemeral-storage."), died(t0, kill))}, nil, Evicted, "was evicted: The node was low on resource: ephemeral-storage."},
		"not admitted":        {"", []Pod{worker(status("UnexpectedAdmissionError", "said by kubelet"))}, nil, PodRejected, "was not admitted by kubelet: UnexpectedAdmissionError: said by kubelet"},
		"shut down":           {"", []Pod{worker(status("Terminated", "Pod was terminated in response to imminent node shutdown."), died(t0, kill))}, nil, MachineLost, "imminent node shutdown"},
		"deadline of a pod":   {"a reason of kubelet beside a container that ended is not a rejection", []Pod{worker(status("DeadlineExceeded", "x"), died(t0, kill))}, nil, WorkerKilled, ""},
		"init":                {"", []Pod{worker(initDied)}, nil, InitFailed, "its init container `install-agent` exited with code 1"},
		"no trace":            {"", []Pod{worker(status("", ""))}, nil, WorkerFailed, "failed without a trace of its container"},
		"no trace, launcher":  {"", []Pod{launcher(status("", ""))}, nil, LauncherFailed, ""},
	}
}

func TestFirst(t *testing.T) {
	for name, tc := range firstCases() {
		t.Run(name, func(t *testing.T) {
			got := FirstCause(tc.pods, tc.noted)
			if got == nil {
				t.Fatalf("%s: no cause", tc.reason)
			}
			if got.Reason != tc.want || !strings.Contains(got.Text(), tc.says) {
				t.Errorf("%s: want %s with %q, got %s: %s", tc.reason, tc.want, tc.says, got.Reason, got.Message)
			}
			entry, found := ReasonDocOf(got.Reason)
			remedy := entry.Remedy
			if strings.HasPrefix(got.Remedy, "`kubectl logs ") {
				remedy = got.Remedy // which names the pod
			}
			if !found || len(tc.noted) == 0 && !strings.HasPrefix(got.Text(), strings.TrimRight(got.Message, ".")+". What to do: "+remedy) {
				t.Errorf("the text lacks the remedy: %s", got.Text())
			}
		})
	}
	if got := FirstCause([]Pod{launcher(), worker()}, nil); got != nil {
		t.Errorf("pods that run are no cause: %+v", got)
	}
}

// TestKilledForMemory: reason and message tell the same story.
func TestKilledForMemory(t *testing.T) {
	const told = "on demo-node-0-1 the kernel killed a process for lack of memory"
	for name, tc := range map[string]struct {
		verdict mpi.Verdict
		want    mpi.Reason
		says    string
	}{
		"a rank":           {mpi.Verdict{Reason: RankKilled, Message: "Worker 1 failed"}, OOMKilled, "the kernel killed 2 processes of the job for lack of memory; Worker 1 failed"},
		"a daemon":         {mpi.Verdict{Reason: LaunchDaemonLost, Message: "lost the daemon of a node"}, OOMKilled, "for lack of memory; lost the daemon of a node"},
		"told by agent":    {mpi.Verdict{Reason: CommandFailed, Message: "exited with code 137; " + told}, OOMKilled, "Launcher failed: exited with code 137; " + told},
		"a hang":           {mpi.Verdict{Reason: Hang, Message: "no rank made progress for 5m"}, Hang, "Launcher failed: no rank made progress for 5m"},
		"blocked ports":    {mpi.Verdict{Reason: MPIPortsBlocked, Message: blocked + "refused"}, MPIPortsBlocked, "Launcher failed: " + blocked + "refused"},
		"incomplete world": {mpi.Verdict{Reason: WorldIncomplete, Message: "no rank ever ran on w-1"}, WorldIncomplete, "Launcher failed: no rank ever ran on w-1"},
		"a lost worker":    {mpi.Verdict{Reason: WorkerLost, Message: "connection lost"}, WorkerLost, "Launcher failed: connection lost"},
		"asked to stop":    {mpi.Verdict{Reason: CommandKilled, Message: "the pod was asked to stop (SIGTERM)", Stopped: "SIGTERM"}, CommandKilled, "Launcher failed: the pod was asked to stop (SIGTERM)"},
	} {
		tc.verdict.ExitCode, tc.verdict.OOMKills = 137, 2
		if got := FirstCause([]Pod{launcher(said(t0, tc.verdict))}, nil); got.Reason != tc.want || !strings.Contains(got.Message, tc.says) {
			t.Errorf("%s: want %s with %q, got %s: %s", name, tc.want, tc.says, got.Reason, got.Message)
		}
	}
}

// TestSignalBehindCode: programs use codes above 128 of their own.
func TestSignalBehindCode(t *testing.T) {
	for name, tc := range map[string]struct {
		end    ContainerEnd
		want   mpi.Reason
		signal string
		says   string
	}{
		"first signal": {ContainerEnd{Code: 129}, WorkerKilled, "SIGHUP", "was killed by SIGHUP"},
		"last signal":  {ContainerEnd{Code: 159}, WorkerKilled, "SIGSYS", "was killed by SIGSYS"},
		"no signal":    {ContainerEnd{Code: 160}, WorkerFailed, "", "exited with code 160"},
		"ORTE":         {ContainerEnd{Code: 205}, WorkerFailed, "", "exited with code 205"},
		"Hydra":        {ContainerEnd{Code: 255}, WorkerFailed, "", "exited with code 255"},
		"of a runtime": {ContainerEnd{Code: 255, Signal: 40}, WorkerKilled, "signal 40", "was killed by signal 40"},
	} {
		got := FirstCause([]Pod{worker(died(t0, tc.end))}, nil)
		if got.Reason != tc.want || got.Signal != tc.signal || got.ExitCode != tc.end.Code || !strings.Contains(got.Message, tc.says) {
			t.Errorf("%s: want %s, %q and %q, got %+v", name, tc.want, tc.signal, tc.says, got)
		}
	}
	if got := FirstCause([]Pod{launcher(died(t0, ContainerEnd{Code: 255}))}, nil); got.Reason != LauncherFailed {
		t.Errorf("a launcher that exited with 255 was not killed: %+v", got)
	}
}

func TestCauseCarriesTheFacts(t *testing.T) {
	five := 5
	verdict := mpi.Verdict{
		Reason: RankKilled, Message: "Worker 1 failed: rank 5 was killed by SIGSEGV", ExitCode: 139, Lines: []string{"last line"}, Host: "demo-node-0-1.demo",
		Rank: &mpi.RankEnd{Rank: &five, Host: "demo-node-0-1.demo", Code: 139, Signal: "SIGSEGV"},
	}
	got := FirstCause([]Pod{launcher(said(t0, verdict)), worker()}, nil)
	want := Cause{
		Reason: RankKilled, Message: got.Message, Remedy: got.Remedy, Lines: []string{"last line"}, Pod: "demo-node-0-1-x7x2p", Machine: "m3",
		Rank: &five, ExitCode: 139, Signal: "SIGSEGV", At: t0,
	}
	if diff := cmp.Diff(want, *got, cmp.AllowUnexported(Cause{}), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "precedence" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	if got.IsInfrastructure() || got.IsProvisional() {
		t.Error("a rank that dies of its own is no fault of the machine, and there is no better evidence")
	}
	lost := FirstCause([]Pod{launcher(said(t0, mpi.Verdict{Reason: WorkerLost, ExitCode: 1, Lost: "demo-node-0-1.demo"})), worker()}, nil)
	if !lost.IsInfrastructure() || !lost.IsProvisional() {
		t.Error("the pod that was lost may still say why")
	}
}

func TestBehind(t *testing.T) {
	gaveUp := Cause{Reason: GateTimeout, Message: "1 nodes did not answer", Remedy: "x"}
	if got := gaveUp.WithStartProblem(QuotaExceeded, "requested 32"); got.Reason != QuotaExceeded || got.Text() != "requested 32. The launcher gave up: 1 nodes did not answer" {
		t.Errorf("the quota is the cause: %+v", got)
	}
	if got := gaveUp.WithStartProblem("PodsPending", "not yet"); got.Reason != GateTimeout {
		t.Errorf("that pods are pending is no cause: %+v", got)
	}
	other := Cause{Reason: CommandFailed}
	if got := other.WithStartProblem(QuotaExceeded, "x"); got.Reason != CommandFailed {
		t.Errorf("a command that ran did not wait for a quota: %+v", got)
	}
}

func TestTaken(t *testing.T) {
	cases := map[string]struct {
		reason string
		pods   []Pod
		want   mpi.Reason
	}{
		"running":           {"", []Pod{launcher(), worker()}, ""},
		"deleted":           {"", []Pod{launcher(), worker(deletedAt(t0))}, PodDeleted},
		"preempted first":   {"what the control plane says wins", []Pod{launcher(deletedAt(t0)), worker(disruptedBy("PreemptionByScheduler"))}, Preempted},
		"success":           {"JobSet deletes the nodes", []Pod{launcher(died(t0, ContainerEnd{})), worker(deletedAt(t0))}, ""},
		"launcher given up": {"its Job deletes it, nobody else", []Pod{launcher(died(t0, ContainerEnd{Code: 3}), deletedAt(t0), givenUp), worker(deletedAt(t0))}, LauncherFailed},
		"worker given up":   {"", []Pod{launcher(), worker(died(t0, ContainerEnd{Code: 137, Reason: "OOMKilled"}), deletedAt(t0), givenUp)}, OOMKilled},
		"failure":           {"JobSet deletes the nodes", []Pod{launcher(died(t0, ContainerEnd{Code: 1})), worker(deletedAt(t0))}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var reason mpi.Reason
			if got := FirstDisruption(tc.pods); got != nil {
				reason = got.Reason
			}
			if reason != tc.want || reason != "" && !MustBeRecorded(reason) {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, reason)
			}
		})
	}
}

func TestWorker(t *testing.T) {
	for host, want := range map[string]string{
		"mnist-node-0-2.mnist": "Worker 2", "mnist-node-0-12": "Worker 12", "mnist-launcher-0-0.mnist": "Launcher",
		"my-node-0-x-node-0-3": "Worker 3", "elsewhere": "elsewhere", "a-node-0-b": "a-node-0-b", "": "",
	} {
		if got := WorkerName(host); got != want {
			t.Errorf("%q: want %q, got %q", host, want, got)
		}
	}
}

func TestSignalName(t *testing.T) {
	for number, want := range map[int]string{9: "SIGKILL", 15: "SIGTERM", 64: "signal 64", 0: "signal 0", -1: "signal -1"} {
		if got := SignalName(number); got != want {
			t.Errorf("%d: want %s, got %s", number, want, got)
		}
	}
}

// TestText: what users read begins with what happened, and ends with what the program printed last.
func TestText(t *testing.T) {
	c := Cause{Message: "Worker 1 failed: CUDA out of memory.", Remedy: "use a smaller batch", Lines: []string{"Traceback", "torch.OutOfMemoryError"}}
	cases := map[string]struct {
		cause Cause
		want  string
	}{
		"all":          {c, "Worker 1 failed: CUDA out of memory. What to do: use a smaller batch\nLast lines:\nTraceback\ntorch.OutOfMemoryError"},
		"without word": {Cause{Message: c.Message, Remedy: c.Remedy}, "Worker 1 failed: CUDA out of memory. What to do: use a smaller batch"},
		"no remedy":    {Cause{Message: c.Message, Lines: c.Lines[1:]}, "Worker 1 failed: CUDA out of memory.\nLast lines:\ntorch.OutOfMemoryError"},
	}
	for name, tc := range cases {
		if got := tc.cause.Text(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// A node that goes after the last launch is not why a command fails.
func TestNodesThatGoAfterTheLastLaunch(t *testing.T) {
	failed := func(verdict mpi.Verdict) func(*Pod) {
		verdict.Reason, verdict.ExitCode = CommandFailed, 4
		return said(t0.Add(time.Minute), verdict)
	}
	cases := map[string]struct {
		reason  string
		verdict mpi.Verdict
		noted   []Cause
		want    mpi.Reason
	}{
		"after":             {"the nodes had done their work", mpi.Verdict{IdleSeconds: 61}, nil, CommandFailed},
		"after, noted":      {"the pod is gone", mpi.Verdict{IdleSeconds: 61}, []Cause{NotedEarlier(Cause{Reason: Evicted, Message: "it was evicted"}, t0)}, CommandFailed},
		"before":            {"the launch had ended because of it", mpi.Verdict{IdleSeconds: 59}, nil, PodDeleted},
		"launched again":    {"the command needed it", mpi.Verdict{}, nil, PodDeleted},
		"launcher, stopped": {"all pods go", mpi.Verdict{IdleSeconds: 61, Stopped: "SIGTERM"}, nil, PodDeleted},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := FirstCause([]Pod{launcher(failed(c.verdict)), worker(deletedAt(t0))}, c.noted); got == nil || got.Reason != c.want {
				t.Errorf("%s: %+v", c.reason, got)
			}
		})
	}
}
