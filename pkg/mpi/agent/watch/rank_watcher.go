package watch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/exitstatus"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// RankWatcher watches how the ranks of this pod end, whoever started them. A rank is the topmost descendant of the agent whose
// environment names a rank. What launchers say about ranks is not always true (package exitstatus), and it comes from one place
// only: here it is known which of all ranks was the first. What a rank left in the background is none.
type RankWatcher struct {
	root  fs.FS
	agent int
	now   func() time.Time
	// container are the variables of this container that tell no rank.
	container []string
	// startersOnly reports whether no rank runs in this pod. A launcher of a wide job has hundreds of remote shells, and looking
	// at all of them often would slow it down.
	startersOnly bool
	// proxies are those of Hydra that started ranks.
	proxies *hydra.Proxies
	// started reports whether the agent started one of its children.
	started func(pid int) bool

	mu sync.Mutex
	// known holds the processes that are watched, nil if the kernel refused.
	known map[int]*followed
	// seen are the numbers of the ranks that ran here, world the size of their world: -1 when there was more than one.
	seen  map[int]bool
	world int
	// endedWell are the numbers of the ranks of the newest launch whose last process exited with 0.
	endedWell map[int]bool
	// failed are the first ranks of the newest launch that did not end well, in the order of time; earlier are those of the
	// last launch before it that had some.
	failed, earlier []rankEnd
	// ended is when a process of a rank ended for the last time, by the numbers of the ranks.
	ended map[int]time.Time
	// succeeded are the processes of launchers that exited with 0.
	succeeded map[int]bool
	// starterFailed is when a launcher of this pod, such as mpiexec, ended with an error for the last time.
	starterFailed time.Time
	// newest is the newest launch of this pod, newestPID the process of its launcher.
	newest    verdict.Launch
	newestPID int
	// looked is when the last look began, and launchers are those that it saw, with the name of one that is below no other.
	looked    time.Time
	launchers map[int]string
	// quiet is since when no launch runs, zero while one does; hasLaunched says that one did.
	quiet       time.Time
	hasLaunched bool
	// hurry ends the pause between two looks, because a process has ended.
	hurry chan struct{}
}

// rankEnd is a rank that failed.
type rankEnd struct {
	mpi.RankEnd
	at time.Time
}

// followed is a process whose end is waited for. noted is closed when all is noted that follows from it.
type followed struct {
	*exitstatus.WatchedProcess
	noted chan struct{}
}

// NewRankWatcher returns a watch that has seen nothing yet, beside the tracker of this pod. startersOnly reports whether no rank
// runs in this pod.
func NewRankWatcher(tracker *ProcessTracker, startersOnly bool) *RankWatcher {
	root := os.DirFS("/proc")
	return &RankWatcher{
		root: root, agent: os.Getpid(), now: time.Now, container: proc.ContainerRankVariables(root),
		proxies: tracker.Proxies, started: tracker.started, startersOnly: startersOnly,
		known: map[int]*followed{}, seen: map[int]bool{}, ended: map[int]time.Time{}, endedWell: map[int]bool{},
		succeeded: map[int]bool{}, hurry: make(chan struct{}, 1),
	}
}

// Ranks start within moments after their daemon, and those that fail at once are seen by their launcher too.
const (
	firstLooks  = 20 * time.Millisecond
	secondLooks = 100 * time.Millisecond
	lastLooks   = 500 * time.Millisecond
)

// Watch looks for ranks until the context ends. How those end that it has found is noted all the same.
func (r *RankWatcher) Watch(ctx context.Context) {
	for start := r.now(); ctx.Err() == nil; {
		r.inspectProcesses()
		age, wait := r.now().Sub(start), lastLooks
		switch {
		case age < time.Second && !r.startersOnly:
			wait = firstLooks
		case age < young:
			wait = secondLooks
		}
		select {
		case <-time.After(wait):
		case <-r.hurry:
		case <-ctx.Done():
			return
		}
	}
}

// inspectProcesses begins to watch the ranks and starters that it has not seen before.
func (r *RankWatcher) inspectProcesses() {
	began := r.now()
	processes := proc.Descendants(r.root, r.agent)
	tree := proc.TreeOf(processes)
	environments := map[int][]string{} // of processes with a rank
	for _, p := range processes {
		if r.startersOnly {
			break
		}
		environment := proc.WithoutContainerVariables(proc.EnvironmentOf(r.root, p.PID), r.container)
		if _, is := proc.RankOf(environment); is {
			environments[p.PID] = environment
		}
	}
	isRank := func(p proc.Process) bool {
		return environments[p.PID] != nil && !program.IsLaunchHelperName(p.Name) && !isOrphan(p, tree, r.started)
	}
	launchers, starters := map[int]string{}, []int(nil)
	for _, p := range processes {
		if tree.HasAncestor(p, isRank) {
			continue
		}
		if program.IsLauncher(p) {
			launchers[p.PID] = ""
			if !tree.HasAncestor(p, program.IsLauncher) {
				launchers[p.PID] = p.Name
			}
		}
		switch {
		case isRank(p):
			r.noteRankProcess(p, environments[p.PID], tree)
		case program.IsMPILauncherName(p.Name):
			starters = append(starters, p.PID)
		}
	}
	r.noteLaunchers(launchers, began)
	r.noteQuiet(processes, began)
	for _, pid := range starters {
		r.followProcess(pid, func(status process.Status, _ time.Time) { r.noteStarterEnd(pid, status) })
	}
	r.NoteEarlyExits(r.proxies.Observe(r.root, tree, began))
}

// noteRankProcess notes a rank, and how it ends.
func (r *RankWatcher) noteRankProcess(p proc.Process, environment []string, tree proc.Tree) {
	rank, _ := proc.RankOf(environment)
	r.recordRank(rank, proc.WorldSize(environment))
	proxy := r.proxies.ProxyOf(p, environment, tree)
	end := mpi.RankEnd{Rank: &rank, Hydra: proxy != nil, WithoutMPI: !proc.HasMPIRank(environment)}
	r.followProcess(p.PID, func(status process.Status, at time.Time) {
		r.noteEnd(rank, status)
		r.NoteRankEnd(end, proxy, status, at)
	})
}

func (r *RankWatcher) noteEnd(rank int, status process.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[rank] = r.now()
	if status.Code() == 0 {
		r.endedWell[rank] = true
	} else {
		delete(r.endedWell, rank)
	}
}

// EndOf is when a process of a rank was seen to end for the last time, false for never.
func (r *RankWatcher) EndOf(rank int) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, seen := r.ended[rank]
	return at, seen
}

// recordRank notes that a rank ran here.
func (r *RankWatcher) recordRank(rank, world int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.world == 0 && len(r.seen) == 0 {
		r.world = world
	}
	if r.world != world {
		r.world = -1
	}
	r.seen[rank] = true
}

// followProcess tells how a process ended, once. A process that cannot be watched is left out.
func (r *RankWatcher) followProcess(pid int, ended func(process.Status, time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.known[pid]; known {
		return
	}
	watched, err := exitstatus.WatchProcess(pid)
	if err != nil {
		r.known[pid] = nil // it is gone, or the kernel has no such thing: the launcher's word has to do
		return
	}
	f := &followed{watched, make(chan struct{})}
	r.known[pid] = f
	go func() {
		defer f.Close()
		status, err := f.Wait()
		if err == nil || errors.Is(err, exitstatus.ErrUnknown) {
			r.noteLauncherEnd(pid)
		}
		if err == nil {
			ended(process.Status(status), f.EndedAt())
		}
		close(f.noted)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.known, pid) // the number may be given away again
	}()
}

// settle returns when the ends that have come are noted: a report without them would blame another rank.
func (r *RankWatcher) settle() {
	exitstatus.Settle()
	r.mu.Lock()
	processes := slices.Collect(maps.Values(r.known))
	r.mu.Unlock()
	for _, f := range processes {
		if f != nil && f.HasEnded() {
			<-f.noted
		}
	}
}

// NoteRankEnd notes how and when a rank ended, which a proxy of Hydra had started, or nil. Later ends may be noted first.
func (r *RankWatcher) NoteRankEnd(rank mpi.RankEnd, proxy *hydra.Proxy, status process.Status, at time.Time) {
	if status.Code() == 0 {
		return
	}
	r.proxies.NoteRankFailure(proxy)
	end := rankEnd{rank, at}
	end.Code = status.Code()
	if signal := status.Signal(); signal != 0 {
		end.Signal = process.SignalName(signal)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	place := len(r.failed)
	for place > 0 && r.failed[place-1].at.After(at) {
		place--
	}
	r.failed = slices.Insert(r.failed, place, end)
	r.failed = r.failed[:min(len(r.failed), verdict.MaxRanks)]
}

// NoteEarlyExits notes ranks that ended before they came to MPI_Init, and that nobody saw fail.
func (r *RankWatcher) NoteEarlyExits(missing []hydra.MissingRank) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rank := range missing {
		if len(r.failed) < verdict.MaxRanks {
			r.failed = append(r.failed, rankEnd{rank.RankEnd, rank.Since})
		}
	}
}

func (r *RankWatcher) noteStarterEnd(pid int, status process.Status) {
	select {
	case r.hurry <- struct{}{}:
	default: // the next look comes at once anyway
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if status.Code() == 0 {
		r.succeeded[pid] = true
		return
	}
	r.starterFailed = r.now()
}

// HasSucceeded reports whether a launcher of this pod was seen to exit with 0.
func (r *RankWatcher) HasSucceeded(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.succeeded[pid]
}

// NoteLaunchStart notes that a new launch begins: what failed before it did not keep the command from going on.
func (r *RankWatcher) NoteLaunchStart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.endedWell)
	if len(r.failed) > 0 {
		r.earlier, r.failed = r.failed, nil
	}
}

// Report returns what a pod reports of its ranks: how many it saw, of a world of which size (-1 for more than one), and those that failed,
// in the order of time: of the newest launch, and of one before it.
func (r *RankWatcher) Report() mpi.NodeReport {
	r.settle()
	now, numbers := r.now(), r.proxies.RankNumbers()
	r.mu.Lock()
	defer r.mu.Unlock()
	report := mpi.NodeReport{Seen: len(r.seen), World: r.world, EndedWell: len(r.endedWell), Numbers: numbers}
	for _, end := range slices.Concat(r.earlier, r.failed) {
		end.Ago = now.Sub(end.at).Seconds()
		report.Ranks = append(report.Ranks, end.RankEnd)
	}
	return report
}
