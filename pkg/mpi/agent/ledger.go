package agent

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// ledger keeps what a node reports.
type ledger struct {
	root     fs.FS
	oomStart int
	ranks    *ranks

	mu      sync.Mutex
	daemons int
	// commands counts what was started that is no daemon.
	commands int
	running  int
	last     int
	// diedAt is when the last daemon of the newest launch died, zero when it did not.
	diedAt time.Time
	// idle is closed while no daemon runs.
	idle chan struct{}
	// unwatch ends the look for ranks.
	unwatch context.CancelFunc
	// stops says that the pod was asked to stop.
	stops bool
}

// newLedger starts counting. The file system is the root of the pod.
func newLedger(root fs.FS) *ledger {
	kills, _ := oomKills(root)
	idle := make(chan struct{})
	close(idle)
	return &ledger{root: root, oomStart: kills, ranks: newRanks(), idle: idle, unwatch: func() {}}
}

// started notes that a daemon runs, which was started by a command line. It says whether a launch begins with it: no other
// runs, and it is more than one rank of many. The returned function notes how it ended.
func (l *ledger) started(line string) (ended func(code int), begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.daemons++
	if l.running == 0 {
		l.idle = make(chan struct{})
		if begins = !isRank(line); begins {
			l.ranks.launch()
			l.diedAt = time.Time{}
		}
		var ctx context.Context
		ctx, l.unwatch = context.WithCancel(context.Background())
		go l.ranks.watch(ctx)
	}
	l.running++
	return func(code int) { l.ended(line, code) }, begins
}

// command notes that something was started that is no daemon.
func (l *ledger) command() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commands++
}

// stop notes that the pod was asked to stop, so that what ends from now on is nobody's failure. It says whether anything was ever
// started here.
func (l *ledger) stop() (used bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops = true
	return l.daemons+l.commands > 0
}

func (l *ledger) stopping() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stops
}

func (l *ledger) ended(line string, code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.diedAt = code, time.Time{}
	if diedDaemon(line, code) {
		l.diedAt = time.Now()
	}
	l.running--
	if l.running == 0 {
		l.unwatch()
		close(l.idle)
	}
}

// settle is how long a report waits for daemons that are about to end with the launcher.
const settle = 500 * time.Millisecond

// report returns the counts once no daemon runs any more, or after a moment.
func (l *ledger) report(ctx context.Context, hostname string) mpi.NodeReport {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(settle):
	case <-ctx.Done():
	}
	kills, _ := oomKills(l.root)
	seen, world := l.ranks.ran()
	l.mu.Lock()
	defer l.mu.Unlock()
	report := mpi.NodeReport{
		Name: hostname, Daemons: l.daemons, Commands: l.commands, LastExitCode: l.last, OOMKills: kills - l.oomStart,
		Seen: seen, World: world, Numbers: l.ranks.proxies.numbers(), Ranks: l.ranks.report(),
	}
	if !l.diedAt.IsZero() {
		report.DaemonAgo = time.Since(l.diedAt).Seconds()
	}
	return report
}
