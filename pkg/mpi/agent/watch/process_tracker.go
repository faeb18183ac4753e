package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// ProcessTracker watches the processes of the job in one pod: all descendants of the agent that do not execute the agent's own
// program. Remote shells are left out, because they write a sign of life every other second.
type ProcessTracker struct {
	root fs.FS
	// agent is the agent's process, program its file.
	agent   int
	program string
	now     func() time.Time
	// Proxies are those of Hydra that started ranks in this pod.
	Proxies *hydra.Proxies
	// container are the variables of this container that tell no rank.
	container []string
	// started reports whether the agent started one of its children; others have lost their parent.
	started func(pid int) bool

	mu       sync.Mutex
	daemonAt time.Time
	launchAt time.Time
	rankAt   time.Time
	// resent is how much the kernel had sent again before the last look at connections, answered whether each was
	// answered then.
	resent   uint64
	answered bool
}

// NewProcessTracker returns a tracker of this pod. Started reports whether the agent started one of its children.
func NewProcessTracker(started func(pid int) bool) *ProcessTracker {
	program, _ := os.Executable() // unknown: the agent's own processes count too
	root := os.DirFS("/proc")
	return &ProcessTracker{
		root: root, agent: os.Getpid(), program: program, now: time.Now, Proxies: hydra.NewProxies(), container: proc.ContainerRankVariables(root), started: started,
	}
}

const (
	// closeLook is the time between two looks for the first rank while a launch daemon is young, laterLook afterwards.
	closeLook = 10 * time.Millisecond
	laterLook = 250 * time.Millisecond
	young     = 10 * time.Second
)

// NoteDaemonStart notes that a launch daemon runs, with which a launch begins or which is one more of it, and looks for the first rank
// until there is one or the context ends.
func (t *ProcessTracker) NoteDaemonStart(ctx context.Context, begins bool) {
	t.mu.Lock()
	if t.daemonAt.IsZero() {
		t.daemonAt = t.now()
	}
	if begins || t.launchAt.IsZero() {
		t.launchAt = t.now()
	}
	found := !t.rankAt.IsZero()
	t.mu.Unlock()
	if !found {
		go t.AwaitFirstRank(ctx)
	}
}

// AwaitFirstRank looks for the first rank until there is one or the context ends.
func (t *ProcessTracker) AwaitFirstRank(ctx context.Context) {
	for start := t.now(); ; {
		if t.hasSeenRank() {
			return
		}
		wait := closeLook
		if t.now().Sub(start) > young {
			wait = laterLook
		}
		if !sleep.For(ctx, wait) {
			return
		}
	}
}

// hasSeenRank reports whether a rank has been seen, now or before.
func (t *ProcessTracker) hasSeenRank() bool {
	found := slices.ContainsFunc(proc.Descendants(t.root, t.agent), func(p proc.Process) bool {
		_, rank := proc.RankOfProcess(t.root, p.PID, t.container)
		return rank
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if found && t.rankAt.IsZero() {
		t.rankAt = t.now()
	}
	return !t.rankAt.IsZero()
}

// Progress answers a ProgressRequest.
func (t *ProcessTracker) Progress(request mpi.ProgressRequest) mpi.Progress {
	var result mpi.Progress
	for _, p := range t.processes() {
		result.Processes++
		result.WrittenBytes += proc.WrittenBytes(t.root, p.PID)
		result.CPUSeconds += p.CPU.Seconds()
		if request.Evidence {
			result.Evidence = append(result.Evidence, t.describeProcess(p))
		}
		if request.Ranks {
			result.Ranks = append(result.Ranks, t.rankSchedules(p)...)
		}
	}
	result.Ranks = result.Ranks[:min(len(result.Ranks), mpi.MaxRankSchedules)]
	t.mu.Lock()
	result.DaemonAge, result.RankAge = t.secondsSince(t.daemonAt), t.secondsSince(t.rankAt)
	t.mu.Unlock()
	if request.Stranded {
		result.Stranded = t.Proxies.StrandedProxies(t.root, t.now())
	}
	if request.Remains {
		result.Remains = t.launchRemains()
	}
	result.Evidence = mostTellingProcesses(result.Evidence)
	if request.Unanswered {
		result.Unanswered = mostRetried(t.connectAttempts())
	}
	if request.Unaccepted {
		ports := proc.UnacceptedPorts(t.root)
		result.Unaccepted = ports[:min(len(ports), maxUnaccepted)]
	}
	return result
}

// connectAttempts returns the connections that nobody answers. The kernel is spared its tables as long as it has sent
// nothing again since all were answered.
func (t *ProcessTracker) connectAttempts() []proc.ConnectAttempt {
	resent, known := proc.RetransmittedSegments(t.root)
	t.mu.Lock()
	quiet := known && t.answered && t.resent == resent
	t.mu.Unlock()
	if quiet {
		return nil
	}
	attempts := proc.ConnectAttempts(t.root)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resent, t.answered = resent, len(attempts) == 0
	return attempts
}

// LaunchAge is how many seconds ago the newest launch began, nil for none.
func (t *ProcessTracker) LaunchAge() *float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.secondsSince(t.launchAt)
}

func (t *ProcessTracker) processes() []proc.Process {
	return slices.DeleteFunc(proc.Descendants(t.root, t.agent), func(p proc.Process) bool {
		return t.program != "" && proc.ExecutablePath(t.root, p.PID) == t.program
	})
}

func (t *ProcessTracker) secondsSince(at time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	age := t.now().Sub(at).Seconds()
	return &age
}

func (t *ProcessTracker) describeProcess(p proc.Process) mpi.StuckProcess {
	rank, found := proc.RankOfProcess(t.root, p.PID, t.container)
	if !found {
		rank = -1
	}
	wait := proc.KernelWaitOf(t.root, p.PID)
	return mpi.StuckProcess{
		Rank: rank, PID: p.PID, Name: p.Name, State: proc.StateName(p.State), Wait: wait.Function, Call: wait.Call, Stack: wait.Stack,
	}
}

// rankSchedules is how a process is scheduled that is one of a rank, nothing for others.
func (t *ProcessTracker) rankSchedules(p proc.Process) []mpi.RankSchedule {
	rank, is := proc.RankOfProcess(t.root, p.PID, t.container)
	if !is || program.IsLaunchHelperName(p.Name) {
		return nil
	}
	return []mpi.RankSchedule{{Rank: rank, PID: p.PID, WaitedSeconds: proc.WaitedForCPU(t.root, p.PID).Seconds(), Stopped: p.State == 'T'}}
}

// mostTellingProcesses sorts evidence and cuts it: ranks first, by number and then by process, so that a rank stands before its
// own children.
func mostTellingProcesses(evidence []mpi.StuckProcess) []mpi.StuckProcess {
	slices.SortFunc(evidence, func(a, b mpi.StuckProcess) int {
		return cmp.Or(cmp.Compare(uint(a.Rank), uint(b.Rank)), cmp.Compare(a.PID, b.PID)) // -1 is the largest
	})
	return evidence[:min(len(evidence), mpi.MaxEvidence)]
}

// AnswerProgress is the subsystem.
func (t *ProcessTracker) AnswerProgress(_ context.Context, request []byte) (any, error) {
	asked, err := decodeProgressRequest(request)
	if err != nil {
		return nil, err
	}
	return t.Progress(asked), nil
}

func decodeProgressRequest(text []byte) (mpi.ProgressRequest, error) {
	var request mpi.ProgressRequest
	if len(text) == 0 {
		return request, nil
	}
	if err := json.Unmarshal(text, &request); err != nil {
		return request, fmt.Errorf("decode a question about progress: %w", err)
	}
	return request, nil
}
