package node

import (
	"context"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/usage"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
)

// activityLog keeps what a node reports.
type activityLog struct {
	meter *usage.Meter
	ranks *watch.RankWatcher

	mu      sync.Mutex
	daemons int
	// commands counts what was started that is not a daemon.
	commands int
	running  int
	last     int
	// diedAt is when the last daemon of the newest launch died, zero when it did not.
	diedAt time.Time
	// idle is closed while no daemon runs.
	idle chan struct{}
	// unwatch ends the look for ranks.
	unwatch context.CancelFunc
	// podStops reports whether the pod was asked to stop.
	podStops bool
}

// newActivityLog starts counting.
func newActivityLog(meter *usage.Meter, ranks *watch.RankWatcher) *activityLog {
	idle := make(chan struct{})
	close(idle)
	return &activityLog{meter: meter, ranks: ranks, idle: idle, unwatch: func() {}}
}

// noteDaemonStart notes that a daemon runs, which was started by a command line. It reports whether a launch begins with it: no other
// runs, and it is more than one rank of many. The returned function notes how it ended.
func (l *activityLog) noteDaemonStart(line string) (ended func(code int), begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.daemons++
	if l.running == 0 {
		l.idle = make(chan struct{})
		if begins = !program.IsRank(line); begins {
			l.ranks.NoteLaunchStart()
			l.diedAt = time.Time{}
		}
		var ctx context.Context
		ctx, l.unwatch = context.WithCancel(context.Background())
		go l.ranks.Watch(ctx)
	}
	l.running++
	return func(code int) { l.noteDaemonEnd(line, code) }, begins
}

// noteOtherCommand notes that something was started that is not a daemon.
func (l *activityLog) noteOtherCommand() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commands++
}

// noteStop notes that the pod was asked to stop, so that what ends from now on is nobody's failure. It reports whether anything was ever
// started here.
func (l *activityLog) noteStop() (used bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.podStops = true
	return l.daemons+l.commands > 0
}

func (l *activityLog) isStopping() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.podStops
}

func (l *activityLog) noteDaemonEnd(line string, code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.diedAt = code, time.Time{}
	if program.IsDiedDaemon(line, code) {
		l.diedAt = time.Now()
	}
	l.running--
	if l.running == 0 {
		l.unwatch()
		close(l.idle)
	}
}

// reportTimeout is how long a report waits for daemons that are about to end with the launcher.
const reportTimeout = 500 * time.Millisecond

// reportWhenIdle returns the counts once no daemon runs any more, or after a moment.
func (l *activityLog) reportWhenIdle(ctx context.Context, hostname string) mpi.NodeReport {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(reportTimeout):
	case <-ctx.Done():
	}
	report := l.ranks.Report()
	l.mu.Lock()
	defer l.mu.Unlock()
	report.Name, report.Daemons, report.Commands, report.LastExitCode, report.OOMKills = hostname, l.daemons, l.commands, l.last, l.meter.OOMKills()
	report.Usage = l.meter.Usage()
	if !l.diedAt.IsZero() {
		report.DaemonAgo = time.Since(l.diedAt).Seconds()
	}
	return report
}
