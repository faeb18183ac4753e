package hydra

import (
	"context"
	"io/fs"
	"log"
	"slices"
	"strconv"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// launcherPoll is the time between two looks whether a proxy of the launcher's own pod hangs.
const launcherPoll = 500 * time.Millisecond

// EndHungMpiexecs ends an mpiexec of this pod whose own proxy hangs, until the context ends: Hydra starts the ranks of its own
// host without a remote shell, and so without a node's agent.
func (x *Proxies) EndHungMpiexecs(ctx context.Context, log *log.Logger) {
	for sleep.For(ctx, launcherPoll) {
		for _, launcher := range x.takeHungLaunchers() {
			log.Printf("end mpiexec (process %d): %v", launcher, ErrRanksWait)
			if err := EndLauncher(launcher, 0, nil); err != nil {
				log.Print(err)
			}
		}
	}
}

// Proxies are Hydra's proxies of this pod that started ranks. A proxy starts the ranks that one launch has in a pod.
//
// Hydra goes on without a rank that failed when the rank did not use PMI, by which ranks find each other: because its program is
// none of MPI, or because it has finalised, or because it never came to MPI_Init. Only in the last case the others wait for it, and
// forever: each in a read from the socket to its proxy. That is the proof that a proxy hangs; what cannot be seen is not proof.
//
// A rank may live too short for any look to see it. The others know how many they are: Hydra tells each (MPI_LOCALNRANKS). One that
// is missing is gone, because a proxy starts all its ranks before it answers the first. With which code it ended does not matter:
// MPI_Init waits for all ranks, and where one fails that has been there, Hydra ends all by itself.
type Proxies struct {
	mu    sync.Mutex
	byPID map[int]*Proxy
	// newest is the one that was found last, also when it has been forgotten.
	newest *Proxy
	// asked is when the launcher asked for the last time who waits.
	asked time.Time
}

// Proxy is one of them.
type Proxy struct {
	pid int
	// parent is what started it: mpiexec in the launcher's pod, the agent on a node. Command is the child of the agent that it
	// descends from, or is.
	parent, command int
	// size is how many ranks it started, 0 for unknown and -1 for several worlds; ranks are those that were seen, by their processes.
	size  int
	ranks map[int]rankNumbers
	// world is how many ranks the launch has, as its ranks say, -1 for several worlds.
	world int
	// failed is how many of its ranks ended with an error, told whether it was told of those that are gone.
	failed int
	told   bool
	// waiting is since when, at every look, one has failed and all that are left wait; zero when that is not so. Idle is the same
	// without one that has failed, while somebody asks. Looked is the last look.
	waiting, idle, looked time.Time
}

// MissingRank is a rank that is gone, and that nobody saw fail.
type MissingRank struct {
	mpi.RankEnd
	// Since is when the others have waited for it.
	Since time.Time
}

// rankNumbers is the number of a rank in the world, and among those of its proxy.
type rankNumbers struct{ number, local int }

// hungAfter is how long the ranks of a proxy must have waited. Where Hydra notices by itself that a rank failed, it ends all others
// within a second.
const hungAfter = 5 * time.Second

// NewProxies returns a collection that knows no proxy yet.
func NewProxies() *Proxies { return &Proxies{byPID: map[int]*Proxy{}} }

// ProxyOf returns the proxy that started a rank, nil for a rank that no proxy started. The environment is the rank's.
func (x *Proxies) ProxyOf(rank proc.Process, environment []string, tree proc.Tree) *Proxy {
	parent, known := tree[rank.Parent]
	if !known || !program.IsHydraProxyName(parent.Name) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.byPID[parent.PID]
	if p == nil || p.parent != parent.Parent { // or the number was given away again
		p = &Proxy{pid: parent.PID, parent: parent.Parent, command: tree.TopmostAncestor(parent), ranks: map[int]rankNumbers{}}
		x.byPID[p.pid], x.newest = p, p
	}
	p.noteRank(rank.PID, environment)
	return p
}

// noteRank notes the place of a rank.
func (p *Proxy) noteRank(pid int, environment []string) {
	number, _ := proc.RankOf(environment)
	value, _ := proc.VariableValue(environment, "MPI_LOCALRANKID")
	local, err := strconv.Atoi(value)
	if err != nil {
		local = -1
	}
	p.ranks[pid] = rankNumbers{number, local}
	value, _ = proc.VariableValue(environment, "MPI_LOCALNRANKS")
	size, _ := strconv.Atoi(value)
	p.size, p.world = verdict.MergeWorldSize(p.size, size), verdict.MergeWorldSize(p.world, proc.WorldSize(environment))
}

// NoteRankFailure notes that a rank of a proxy ended with an error; nil is none of Hydra's.
func (x *Proxies) NoteRankFailure(p *Proxy) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p != nil {
		p.failed++
	}
}

// Observe takes in what the ranks do of which others are gone. It returns those that are gone of a proxy that has been found to hang, and
// that nobody saw fail, once.
func (x *Proxies) Observe(root fs.FS, tree proc.Tree, now time.Time) []MissingRank {
	x.mu.Lock()
	defer x.mu.Unlock()
	var gone []MissingRank
	for _, p := range x.byPID {
		_, runs := tree[p.pid]
		lost := p.failed > 0 || p.lacksRanks(tree)
		waits := runs && (lost || now.Sub(x.asked) < askedFor) && allRanksWait(root, p.pid, tree)
		p.waiting, p.idle, p.looked = sinceWhen(p.waiting, now, waits && lost), sinceWhen(p.idle, now, waits && !lost), now
		if p.hangs() && p.failed == 0 && !p.told {
			p.told = true
			gone = append(gone, p.endsOfMissingRanks(tree)...)
		}
	}
	return gone
}

// sinceWhen returns since when something is so: zero when it is not.
func sinceWhen(before, now time.Time, is bool) time.Time {
	switch {
	case !is:
		return time.Time{}
	case before.IsZero():
		return now
	}
	return before
}

// lacksRanks reports whether some of the ranks are gone that a proxy started.
func (p *Proxy) lacksRanks(tree proc.Tree) bool {
	left := 0
	for _, child := range tree {
		if child.Parent == p.pid && child.State != 'Z' {
			left++
		}
	}
	return left < p.size
}

// endsOfMissingRanks returns the ends of the ranks that are gone. One that no look saw has no number.
func (p *Proxy) endsOfMissingRanks(tree proc.Tree) []MissingRank {
	ends := make([]MissingRank, p.size)
	for i := range ends {
		ends[i] = MissingRank{mpi.RankEnd{Hydra: true, Early: true}, p.waiting}
	}
	runs := make([]bool, p.size)
	for pid, rank := range p.ranks {
		if rank.local < 0 || rank.local >= p.size {
			continue
		}
		ends[rank.local].Rank = &rank.number
		process, known := tree[pid]
		runs[rank.local] = runs[rank.local] || known && process.State != 'Z'
	}
	var gone []MissingRank
	for local, end := range ends {
		if !runs[local] {
			gone = append(gone, end)
		}
	}
	return gone
}

// RankNumbers returns those of the ranks that were seen of the newest proxy.
func (x *Proxies) RankNumbers() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.newest == nil {
		return nil
	}
	return x.newest.seenRankNumbers()
}

// seenRankNumbers returns those of the ranks that were seen, in order.
func (p *Proxy) seenRankNumbers() []int {
	var numbers []int
	for _, rank := range p.ranks {
		numbers = append(numbers, rank.number)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// allRanksWait reports whether a proxy has ranks, and all of them wait for it: the rank itself, or what it started, as a script does.
func allRanksWait(root fs.FS, proxy int, tree proc.Tree) bool {
	waits := map[int]bool{}
	for _, p := range tree {
		if rank, found := rankOfProcess(p, proxy, tree); found {
			waits[rank] = waits[rank] || waitsForProxy(root, p.PID)
		}
	}
	for _, waiting := range waits {
		if !waiting {
			return false
		}
	}
	return len(waits) > 0
}

// rankOfProcess returns the child of a proxy that a process descends from, or is. One that has ended counts no more.
func rankOfProcess(p proc.Process, proxy int, tree proc.Tree) (pid int, found bool) {
	for range tree {
		parent, known := tree[p.Parent]
		switch {
		case !known:
			return 0, false
		case parent.PID == proxy:
			return p.PID, p.State != 'Z'
		}
		p = parent
	}
	return 0, false
}

// waitsForProxy reports whether a process reads from the socket to its proxy, as MPICH's client of PMI does while it waits.
func waitsForProxy(root fs.FS, pid int) bool {
	descriptor, reads := proc.ReadsSocket(root, pid)
	if !reads {
		return false
	}
	value, _ := proc.VariableValue(proc.EnvironmentOf(root, pid), "PMI_FD")
	return value == strconv.Itoa(descriptor)
}

func (p *Proxy) hangs() bool { return !p.waiting.IsZero() && p.looked.Sub(p.waiting) >= hungAfter }

// hasHungProxy reports whether the proxy hangs that a command is, or has started.
func (x *Proxies) hasHungProxy(command int) bool {
	return x.anyProxy(func(p *Proxy) bool { return p.command == command && p.hangs() })
}

// HasLostRank reports whether a rank ended with an error that a command had started.
func (x *Proxies) HasLostRank(command int) bool {
	return x.anyProxy(func(p *Proxy) bool { return p.command == command && p.failed > 0 })
}

func (x *Proxies) anyProxy(is func(*Proxy) bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.byPID {
		if is(p) {
			return true
		}
	}
	return false
}

// takeHungLaunchers returns the launchers that started the proxies that hang, each once. A proxy that has lost its own, or never had one
// in this pod, is a child of the agent.
func (x *Proxies) takeHungLaunchers() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	var launchers []int
	for pid, p := range x.byPID {
		if p.hangs() && p.command != p.pid {
			launchers = append(launchers, p.parent)
			delete(x.byPID, pid)
		}
	}
	return launchers
}

// forgetCommand forgets the proxies of a command that has ended.
func (x *Proxies) forgetCommand(command int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for pid, p := range x.byPID {
		if p.command == command {
			delete(x.byPID, pid)
		}
	}
}
