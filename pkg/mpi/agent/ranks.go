package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/fate"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

// ranks watches how the ranks of this pod end, whoever started them. A rank is the topmost descendant of the agent whose
// environment names a rank. What launchers say about ranks is not always true (package fate), and it comes from one place
// only: here it is known which of all ranks was the first.
type ranks struct {
	root  fs.FS
	agent int
	now   func() time.Time
	// container are the variables of this container that tell no rank.
	container []string
	// startersOnly says that no rank runs in this pod. A launcher of a wide job has hundreds of remote shells, and looking
	// at all of them often would slow it down.
	startersOnly bool
	// proxies are those of Hydra that started ranks.
	proxies *proxies

	mu sync.Mutex
	// known holds the processes that are watched, or that cannot be.
	known map[int]bool
	// seen are the numbers of the ranks that ran here, world the size of their world: -1 when there was more than one.
	seen  map[int]bool
	world int
	// failed are the first ranks of the newest launch that did not end well, in the order of time; earlier are those of the
	// last launch before it that had some.
	failed, earlier []rankEnd
	// starterFailed is when a launcher of this pod, such as mpiexec, ended with an error for the last time.
	starterFailed time.Time
	// newest is the newest launcher of this pod.
	newest launcher
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

func newRanks() *ranks {
	root := os.DirFS("/proc")
	return &ranks{
		root: root, agent: os.Getpid(), now: time.Now, container: proc.ContainerRank(root),
		proxies: newProxies(), known: map[int]bool{}, seen: map[int]bool{}, hurry: make(chan struct{}, 1),
	}
}

// mostRanks is how many failed ranks of a launch are kept: the first ones matter.
const mostRanks = 8

// Ranks start within moments after their daemon, and those that fail at once are seen by their launcher too.
const (
	firstLooks  = 20 * time.Millisecond
	secondLooks = 100 * time.Millisecond
	lastLooks   = 500 * time.Millisecond
)

// watch looks for ranks until the context ends. How those end that it has found is noted all the same.
func (r *ranks) watch(ctx context.Context) {
	for start := r.now(); ctx.Err() == nil; {
		r.look()
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

// look begins to watch the ranks and starters that it has not seen before.
func (r *ranks) look() {
	began := r.now()
	processes := proc.Descendants(r.root, r.agent)
	byPID := make(map[int]proc.Process, len(processes))
	for _, p := range processes {
		byPID[p.PID] = p
	}
	rankOf, environmentsOf := map[int]int{}, map[int][]string{}
	for _, p := range processes {
		if r.startersOnly {
			break
		}
		environment := proc.FromLauncher(proc.Environment(r.root, p.PID), r.container)
		if rank, is := proc.RankOf(environment); is {
			rankOf[p.PID], environmentsOf[p.PID] = rank, environment
		}
	}
	launchers, starters := map[int]string{}, []int(nil)
	for _, p := range processes {
		if below(p, byPID, func(p proc.Process) bool { _, is := rankOf[p.PID]; return is && !startsDaemons(p.Name) }) {
			continue
		}
		if isLauncher(p) {
			launchers[p.PID] = ""
			if !below(p, byPID, isLauncher) {
				launchers[p.PID] = p.Name
			}
		}
		rank, is := rankOf[p.PID]
		if is && !startsDaemons(p.Name) {
			r.saw(rank, worldSize(environmentsOf[p.PID]))
			proxy, ended := r.proxies.of(p, environmentsOf[p.PID], byPID), r.ended
			if !proc.OfMPI(environmentsOf[p.PID]) {
				ended = r.endedWithoutMPI
			}
			r.follow(p.PID, func(status process.Status) { ended(rank, proxy, status) })
		} else if isStarter(p.Name) {
			starters = append(starters, p.PID)
		}
	}
	r.sawLaunchers(launchers, began)
	r.sawQuiet(processes, began)
	for _, pid := range starters {
		r.follow(pid, r.starterEnded)
	}
	r.goneEarly(r.proxies.look(r.root, byPID, began))
}

// sizeVariables name the size of the world of a rank: Open MPI, Hydra, Horovod, DeepSpeed and PyTorch.
var sizeVariables = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "WORLD_SIZE"}

// worldSize returns the size of the world that an environment names, 0 for none.
func worldSize(environment []string) int {
	for _, name := range sizeVariables {
		if value, found := valueOf(environment, name); found {
			size, _ := strconv.Atoi(value)
			return max(size, 0)
		}
	}
	return 0
}

// valueOf returns the value of a variable.
func valueOf(environment []string, name string) (value string, found bool) {
	for _, variable := range environment {
		if value, found = strings.CutPrefix(variable, name+"="); found {
			return value, true
		}
	}
	return "", false
}

// saw notes that a rank ran here.
func (r *ranks) saw(rank, world int) {
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

// ran returns how many ranks ran here, and the size of their world: -1 when there was more than one.
func (r *ranks) ran() (seen, world int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen), r.world
}

// below says whether a process descends from one of a kind.
func below(p proc.Process, byPID map[int]proc.Process, kind func(proc.Process) bool) bool {
	for steps := 0; steps < len(byPID); steps++ {
		parent, known := byPID[p.Parent]
		if !known {
			return false
		}
		if kind(parent) {
			return true
		}
		p = parent
	}
	return false
}

// isProxyName says whether a process is one of Hydra's proxies. The kernel keeps 15 bytes of a name.
func isProxyName(name string) bool {
	return slices.Contains([]string{"hydra_pmi_proxy", "hydra_bstrap_pr", "hydra_bstrap_proxy", "pmi_proxy"}, name)
}

// startsDaemons says whether a process belongs to the launch, although its environment may name a rank: daemons of Open MPI
// carry PMIx variables of their own.
func startsDaemons(name string) bool {
	return isProxyName(name) || slices.Contains([]string{"orted", "prted", "prterun", "prte", "mpi-agent", "rsh", "ssh"}, name)
}

// isStarter says whether a process is an MPI launcher that waits for its ranks. A daemon that outlives them, as prte does for
// prun, is none.
func isStarter(name string) bool {
	return slices.Contains([]string{
		"mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "mpirun", "mpirun.mpich", "mpirun.openmpi", "orterun", "prterun", "prun",
	}, name)
}

// isLauncher says whether a process begins a launch on all nodes, with MPI or without. One below another is a part of it, which
// that has forked. Scripts are known by their own names.
func isLauncher(p proc.Process) bool {
	return isStarter(p.Name) || slices.Contains([]string{"horovodrun", "deepspeed"}, p.Name)
}

// follow tells how a process ended, once. A process that cannot be watched is left out.
func (r *ranks) follow(pid int, ended func(process.Status)) {
	r.mu.Lock()
	known := r.known[pid]
	r.known[pid] = true
	r.mu.Unlock()
	if known {
		return
	}
	watched, err := fate.Watch(pid)
	if err != nil {
		return // it is gone, or the kernel has no such thing: the launcher's word has to do
	}
	go func() {
		defer watched.Close()
		status, err := watched.Wait()
		if err == nil || errors.Is(err, fate.ErrUnknown) {
			r.gone(pid)
		}
		if err == nil {
			ended(process.Status(status))
		}
		r.mu.Lock()
		delete(r.known, pid) // the number may be given away again
		r.mu.Unlock()
	}()
}

// ended notes how a rank ended, which a proxy of Hydra had started, or nil.
func (r *ranks) ended(rank int, proxy *proxy, status process.Status) {
	r.note(mpi.RankEnd{Rank: &rank, Hydra: proxy != nil}, proxy, status)
}

// endedWithoutMPI notes how a rank ended that no MPI launcher had started.
func (r *ranks) endedWithoutMPI(rank int, _ *proxy, status process.Status) {
	r.note(mpi.RankEnd{Rank: &rank, WithoutMPI: true}, nil, status)
}

func (r *ranks) note(rank mpi.RankEnd, proxy *proxy, status process.Status) {
	if status.Code() == 0 {
		return
	}
	r.proxies.rankFailed(proxy)
	end := rankEnd{rank, r.now()}
	end.Code = status.Code()
	if signal := status.Signal(); signal != 0 {
		end.Signal = process.SignalName(signal)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) < mostRanks {
		r.failed = append(r.failed, end)
	}
}

// goneEarly notes ranks that ended before they came to MPI_Init, and that nobody saw fail.
func (r *ranks) goneEarly(ends []rankEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, ends[:min(len(ends), max(0, mostRanks-len(r.failed)))]...)
}

func (r *ranks) starterEnded(status process.Status) {
	select {
	case r.hurry <- struct{}{}:
	default: // the next look comes at once anyway
	}
	if status.Code() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starterFailed = r.now()
}

// launch notes that a new launch begins: what failed before it did not keep the command from going on.
func (r *ranks) launch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) > 0 {
		r.earlier, r.failed = r.failed, nil
	}
}

// report returns the ranks that failed, in the order of time, as of now: of the newest launch, and of one before it.
func (r *ranks) report() []mpi.RankEnd {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	var ends []mpi.RankEnd
	for _, end := range slices.Concat(r.earlier, r.failed) {
		end.Ago = now.Sub(end.at).Seconds()
		ends = append(ends, end.RankEnd)
	}
	return ends
}

// lastFailedStarter returns when a launcher of this pod admitted a failure for the last time, zero for never.
func (r *ranks) lastFailedStarter() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.starterFailed
}

// aged makes the ages of a report those of now.
func aged(report mpi.NodeReport, received time.Time) mpi.NodeReport {
	report.Ranks = slices.Clone(report.Ranks)
	for i := range report.Ranks {
		report.Ranks[i].Ago += time.Since(received).Seconds()
	}
	if report.DaemonAgo > 0 {
		report.DaemonAgo = mpi.Seconds(report.DaemonAgo + time.Since(received).Seconds())
	}
	return report
}

// firstFailed returns the rank that failed first of all, nil when none is known. Launchers end the other ranks of a job
// with SIGTERM and SIGKILL when one has failed, and machines do not see that at exactly the same time: a rank that ended
// so counts only when no other failed within a moment after it.
func firstFailed(reports []mpi.NodeReport) *mpi.RankEnd {
	all := inOrder(reports)
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		if all[0].Ago-all[i].Ago > simultaneous {
			break
		}
		if !endedByLauncher(all[i]) {
			return &all[i]
		}
	}
	return &all[0]
}

// inOrder returns the ranks that failed in the order of time.
func inOrder(reports []mpi.NodeReport) []mpi.RankEnd {
	var all []mpi.RankEnd
	for _, report := range reports {
		for _, end := range report.Ranks {
			end.Host = cmp.Or(end.Host, report.Name)
			all = append(all, end)
		}
	}
	slices.SortStableFunc(all, func(a, b mpi.RankEnd) int { return cmp.Compare(b.Ago, a.Ago) })
	return all
}

// simultaneous is how many seconds apart two machines may see what happened at one time.
const simultaneous = 0.02

func endedByLauncher(end mpi.RankEnd) bool {
	return end.Signal == process.SignalName(syscall.SIGTERM) || end.Signal == process.SignalName(syscall.SIGKILL)
}

// describeEnd says how a rank ended, for example `rank 3 exited with code 3` or `rank 0 was killed by SIGSEGV`.
func describeEnd(end mpi.RankEnd) string { return nameRank(end) + " " + howItEnded(end) }

func nameRank(end mpi.RankEnd) string {
	if end.Rank == nil {
		return "a rank"
	}
	return fmt.Sprintf("rank %d", *end.Rank)
}

func howItEnded(end mpi.RankEnd) string {
	switch {
	case end.Early:
		return "ended before it came to MPI_Init, where the others waited for it, and nobody saw how"
	case end.Signal != "":
		return "was killed by " + end.Signal
	}
	return process.Status(end.Code << 8).String()
}
