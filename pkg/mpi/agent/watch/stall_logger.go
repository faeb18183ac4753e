package watch

import (
	"log"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// StallLogger tells, once each, what seems to stand in the way of a job, or slows it down. It does not end the job: a peer may be busy, and a policy may come. A
// command that fails while nobody answers a connection failed because of it.
type StallLogger struct {
	Log *log.Logger
	// Blocked is the connection that nobody answered at the last look, nil for none.
	Blocked *verdict.BlockedConnection

	calls                  unansweredConnections
	alone                  daemonsWithoutRanks
	heldUp                 heldUpRanks
	toldBlocked, toldAlone bool
}

// The times between two looks: firstLaunchPoll in the first closely of a launch, launchPoll afterwards, as in a script that does something
// else first, and workPoll once a rank ran. A look is a question to every node.
const (
	firstLaunchPoll = 2 * time.Second
	closely         = 30 * time.Second
	launchPoll      = 5 * time.Second
	workPoll        = time.Minute
)

// PollInterval is the time until the next look at a command of an age.
func PollInterval(timings mpi.LaunchTimings, age time.Duration) time.Duration {
	switch {
	case timings.RankSeconds != nil:
		return workPoll
	case age < closely:
		return firstLaunchPoll
	}
	return launchPoll
}

// Observe takes in what the pods do. Works reports whether a rank has run, launching whether an MPI launcher waits.
func (l *StallLogger) Observe(now time.Time, table mpi.HostTable, nodes []mpi.Host, pods map[string]mpi.Progress, works, launching bool) {
	if l.calls == nil {
		l.calls = unansweredConnections{}
	}
	if text := l.heldUp.observePods(now, pods); text != "" {
		l.Log.Print(text)
	}
	l.logFindings(l.calls.observePods(now, table, pods, works), l.alone.observePods(now, !works && launching, nodes, pods), len(nodes))
}

// logFindings takes in what a look found, and tells what is new.
func (l *StallLogger) logFindings(blocked *verdict.BlockedConnection, alone bool, nodes int) {
	const goesOn = "the job goes on, and may wait forever: "
	if l.Blocked = blocked; blocked != nil && !l.toldBlocked {
		l.toldBlocked = true
		l.Log.Print(goesOn, blocked)
	}
	if alone && !l.toldAlone {
		l.toldAlone = true
		l.Log.Printf(goesOn+"no rank started within %v although the launch daemons run on all %d nodes: the MPI launcher and its daemons wait for each other", startsWithin, nodes)
	}
}
