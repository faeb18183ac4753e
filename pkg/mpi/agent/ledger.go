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

	mu      sync.Mutex
	daemons int
	running int
	last    int
	// idle is closed while no daemon runs.
	idle chan struct{}
}

// newLedger starts counting. The file system is the root of the pod.
func newLedger(root fs.FS) *ledger {
	kills, _ := oomKills(root)
	idle := make(chan struct{})
	close(idle)
	return &ledger{root: root, oomStart: kills, idle: idle}
}

// started notes that a daemon runs; the returned function notes how it ended.
func (l *ledger) started() (ended func(code int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.daemons++
	if l.running == 0 {
		l.idle = make(chan struct{})
	}
	l.running++
	return l.ended
}

func (l *ledger) ended(code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = code
	l.running--
	if l.running == 0 {
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
	l.mu.Lock()
	defer l.mu.Unlock()
	return mpi.NodeReport{Name: hostname, Daemons: l.daemons, LastExitCode: l.last, OOMKills: kills - l.oomStart}
}
