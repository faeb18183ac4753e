package launch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// hangGrace is the time between SIGTERM and SIGKILL for the command of a job that has hung.
const hangGrace = 2 * time.Second

// attended is what was seen of a command while it ran.
type attended struct {
	// hang is why the command was ended, blocked the connection that nobody answered at the end; nil for none.
	hang    *verdict.Hang
	blocked *verdict.BlockedConnection
	// stuck is the launch that was ended because all its ranks had, nil for none.
	stuck *verdict.StuckLaunch
}

// superviseCommand looks after a running command: it times the launch, posts what may be in its way, ends a launch whose ranks have all
// ended, and a job that has hung by the rule of its user. The returned function is called when the command has ended: it stops that, and
// returns what was seen. Ranks are watched until the context ends.
func (j *runningJob) superviseCommand(ctx context.Context) func() attended {
	go j.ranks.Watch(ctx)
	if j.runsRanks() {
		go j.tracker.Proxies.EndHungMpiexecs(ctx, j.Log)
	}
	go hydra.StrandedLaunchEnder{
		StateDir: j.Settings.StateDir, Gone: j.ranks.NoteEarlyExits, Log: j.Log,
		Ask: func(ctx context.Context) map[string]mpi.Progress {
			return j.askProgress(ctx, j.otherHosts(), mpi.ProgressRequest{Stranded: true})
		},
	}.EndUntilDone(ctx)
	j.times.noteCommandStart()
	running, cancel := context.WithCancel(ctx)
	go j.askAfterLaunches(running)
	var seen attended
	var group sync.WaitGroup
	if j.runsRanks() {
		group.Go(func() { j.tracker.AwaitFirstRank(running) })
	}
	group.Go(func() { j.awaitFirstRank(running) })
	group.Go(func() { seen.hang = j.endHungCommand(running) })
	group.Go(func() { seen.blocked, seen.stuck = j.watchStalls(running) })
	group.Go(func() { j.logStragglers(running) })
	return func() attended {
		cancel()
		group.Wait()
		j.times.noteProgress(j.tracker.Progress(mpi.ProgressRequest{}))
		return seen
	}
}

// watchStalls posts what seems to stand in the way of the job, until the context ends, and ends launchers whose ranks have all ended. It
// returns the connection that nobody answered at the end, or nil, and the last launch that it ended, or nil.
func (j *runningJob) watchStalls(ctx context.Context) (blocked *verdict.BlockedConnection, stuck *verdict.StuckLaunch) {
	began, looked, stalls := time.Now(), time.Now(), watch.NewStallWatch(j.Log)
	var found []mpi.JobWarning
	for sleep.For(ctx, watch.TroublePoll) {
		now, nodes := time.Now(), len(j.otherHosts())
		if now.Sub(looked) >= watch.PollInterval(j.times.snapshot(), now.Sub(began), nodes, stalls.IsDoubtful(now)) {
			looked = now
			look := j.lookAtPods(ctx, stalls.HasUnanswered())
			if ctx.Err() != nil {
				break // what was seen before the end counts
			}
			found = stalls.Observe(look)
			if seen, over := stalls.EndIdleLaunch(look.At); over {
				stuck = &verdict.StuckLaunch{Seen: seen, Ended: look.At}
			}
		}
		j.postWarnings(found, j.silentWorker(stalls), j.output.outputWarning(time.Now()))
	}
	return stalls.Blocked, stuck
}

// lookAtPods asks all pods what goes on there, and for ports on which connections wait if some pod gets no answer.
func (j *runningJob) lookAtPods(ctx context.Context, unanswered bool) watch.LaunchLook {
	request := mpi.ProgressRequest{Ranks: true, Remains: true, Unanswered: true, Unaccepted: unanswered}
	pods := j.askProgress(ctx, j.otherHosts(), request)
	for _, progress := range pods {
		j.times.noteProgress(progress)
	}
	return watch.LaunchLook{
		At: time.Now(), Table: j.table, Nodes: j.otherHosts(), Pods: pods, Unaccepted: request.Unaccepted,
		Works: j.times.snapshot().RankSeconds != nil,
	}
}

// silentWorker returns the warning about a worker whose agent does not answer its remote shell, nil if all do.
func (j *runningJob) silentWorker(stalls *watch.StallWatch) *mpi.JobWarning {
	records, err := state.ReadRecords[watch.Silence](j.Settings.SilencesPath())
	if err != nil {
		j.Log.Print(err)
		return nil
	}
	return stalls.ObserveSilences(records, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
}

// postWarnings posts what was found and the others, if not nil, the most important first.
func (j *runningJob) postWarnings(found []mpi.JobWarning, others ...*mpi.JobWarning) {
	warnings := slices.Clone(found)
	for _, warning := range others {
		if warning != nil {
			warnings = append(warnings, *warning)
		}
	}
	slices.SortStableFunc(warnings, byImportance)
	j.warnings.post(warnings)
}

// byImportance sorts what only makes a job slow behind what may stop it.
func byImportance(a, b mpi.JobWarning) int {
	slow := func(w mpi.JobWarning) int {
		if w.Reason == mpi.ReasonRankHeldUp {
			return 1
		}
		return 0
	}
	return slow(a) - slow(b)
}

// endHungCommand ends the command once the job has hung, and returns what was seen of that, nil when the context ends first.
func (j *runningJob) endHungCommand(ctx context.Context) *verdict.Hang {
	if j.Hang.After == 0 {
		return nil
	}
	detector := watch.HangDetector{Rule: j.Hang}
	for sleep.For(ctx, j.Hang.LookInterval()) {
		pods := j.askProgress(ctx, j.otherHosts(), mpi.ProgressRequest{})
		if detector.Observe(time.Now(), pods, len(pods) == len(j.otherHosts())+1) {
			pods = describeHang(pods, func() map[string]mpi.Progress {
				return j.askProgress(ctx, j.otherHosts(), mpi.ProgressRequest{Evidence: true})
			})
			j.child.EndGroup(hangGrace)
			return &verdict.Hang{After: j.Hang.After, CPUCounts: j.Hang.CPUCounts, Pods: pods}
		}
	}
	return nil
}

// evidenceAttempts is how often pods are asked what their processes do before the command of a job that has hung is ended.
const evidenceAttempts = 3

// describeHang asks what the processes of all pods do, again where a busy one did not answer in time. Of one that never does, what it said at
// the last look stands: all had answered then.
func describeHang(last map[string]mpi.Progress, ask func() map[string]mpi.Progress) map[string]mpi.Progress {
	described := map[string]mpi.Progress{}
	for range evidenceAttempts {
		if maps.Copy(described, ask()); len(described) >= len(last) {
			break
		}
	}
	for name, progress := range last {
		if _, answered := described[name]; !answered {
			described[name] = progress
		}
	}
	return described
}

// The launcher looks for the first rank so rarely that it costs a launch nothing: the node's answer says when it was.
const (
	firstPoll = 2 * time.Second
	lastPoll  = time.Minute
	// askedNodes is the number of nodes that are asked.
	askedNodes = 8
)

// awaitFirstRank asks some nodes until one has seen a rank, for the timings of a running job.
func (j *runningJob) awaitFirstRank(ctx context.Context) {
	nodes := j.otherHosts()[:min(len(j.otherHosts()), askedNodes)]
	for wait := firstPoll; sleep.For(ctx, wait); wait = min(2*wait, lastPoll) {
		for _, progress := range j.askProgress(ctx, nodes, mpi.ProgressRequest{}) {
			j.times.noteProgress(progress)
		}
		if j.times.snapshot().RankSeconds != nil {
			return
		}
	}
}

// askProgress asks the own pod and nodes, side by side, and returns the answers by the first label of the host name.
func (j *runningJob) askProgress(ctx context.Context, nodes []mpi.Host, request mpi.ProgressRequest) map[string]mpi.Progress {
	ctx, cancel := context.WithTimeout(ctx, client.Attempt)
	defer cancel()
	pods := map[string]mpi.Progress{hosts.FirstLabel(j.Hostname): j.tracker.Progress(request)}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, node := range nodes {
		group.Go(func() {
			address, err := j.agentAddressOf(node)
			if err != nil {
				return
			}
			progress, err := client.AskProgress(ctx, j.Dial, j.Key, address, request)
			if err != nil {
				return // the rule counts who answers
			}
			mu.Lock()
			defer mu.Unlock()
			pods[hosts.FirstLabel(node.Name)] = progress
		})
	}
	group.Wait()
	return pods
}

// lookUpAddress returns where the agent of a node listens.
func (j *runningJob) agentAddressOf(node mpi.Host) (string, error) {
	host, _ := hosts.FindHost(j.table, node.Name)
	return client.AgentAddress(host, j.Port)
}
