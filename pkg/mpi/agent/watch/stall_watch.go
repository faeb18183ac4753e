package watch

import (
	"log"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// StallWatch notes what seems to stand in the way of a job, or slows it down, and logs each thing once. A peer may be busy, and a
// policy may come: such a job goes on, and one that fails while nobody answers a connection failed because of it. Only a launch
// whose ranks have all ended is over.
type StallWatch struct {
	Log *log.Logger
	// Blocked is the connection that was unanswered at the last look for so long that it explains a failure, nil
	// for none.
	Blocked *verdict.BlockedConnection

	calls   unansweredConnections
	stopped stoppedRanks
	heldUp  heldUpRanks
	idle    idleLaunch
	logged  map[string]bool
}

// NewStallWatch returns a watch that has seen nothing.
func NewStallWatch(log *log.Logger) *StallWatch {
	return &StallWatch{Log: log, calls: unansweredConnections{}, stopped: stoppedRanks{}, logged: map[string]bool{}}
}

// The times between two looks: firstLaunchPoll in the first closely of a launch, launchPoll afterwards, as in a script that does
// something else first, and workPoll once a rank ran, or firstLaunchPoll while something may be in the way. A look is a
// question to every node: with many it comes as seldom as workPollOfNode for each allows, or closePollOfNode, and every
// lastWorkPoll at least.
const (
	// TroublePoll is the time between two looks at what costs nothing: the output, and what remote shells have
	// left.
	TroublePoll     = 2 * time.Second
	firstLaunchPoll = 2 * time.Second
	closely         = 30 * time.Second
	launchPoll      = 5 * time.Second
	workPoll        = 10 * time.Second
	workPollOfNode  = 250 * time.Millisecond
	closePollOfNode = 50 * time.Millisecond
	lastWorkPoll    = time.Minute
)

// PollInterval is the time until the next look at a command of an age, on so many nodes. Doubtful is
// StallWatch.IsDoubtful.
func PollInterval(timings mpi.LaunchTimings, age time.Duration, nodes int, doubtful bool) time.Duration {
	switch {
	case timings.RankSeconds != nil && doubtful:
		return min(lastWorkPoll, max(firstLaunchPoll, time.Duration(nodes)*closePollOfNode))
	case timings.RankSeconds != nil:
		return min(lastWorkPoll, max(workPoll, time.Duration(nodes)*workPollOfNode))
	case age < closely:
		return firstLaunchPoll
	}
	return launchPoll
}

// LaunchLook is what one look at the pods of a job saw.
type LaunchLook struct {
	At    time.Time
	Table mpi.HostTable
	Nodes []mpi.Host
	Pods  map[string]mpi.Progress
	// Works reports whether a rank has run.
	Works bool
	// Unaccepted reports whether the pods were asked for ports on which connections wait.
	Unaccepted bool
}

// IsDoubtful reports whether the last look saw something that the next one may find to be in the way.
func (w *StallWatch) IsDoubtful(now time.Time) bool {
	return w.calls.areNew(now) || w.stopped.areNew(now)
}

// HasUnanswered reports whether the last look saw unanswered connections between pods.
func (w *StallWatch) HasUnanswered() bool { return len(w.calls) > 0 }

// Observe takes in a look, and returns what is wrong, the most important first.
func (w *StallWatch) Observe(look LaunchLook) []mpi.JobWarning {
	w.idle.observePods(look.At, len(look.Pods) == len(look.Nodes)+1, look.Pods)
	blocked := w.calls.observePods(look)
	w.Blocked = nil
	if blocked != nil && blocked.Open >= blockedAfter(look.Works) {
		w.Blocked = blocked
	}
	var found []mpi.JobWarning
	if warning := w.idle.warning(look.At); warning != nil {
		found = append(found, *warning)
	}
	if warning := w.stopped.observePods(look.At, look.Pods); warning != nil {
		found = append(found, *warning)
	}
	if blocked != nil {
		found = append(found, mpi.JobWarning{Reason: diagnose.MPIPortsBlocked, Message: blocked.Connection()})
	}
	if warning := w.heldUp.observePods(look.At, look.Pods); warning != nil {
		found = append(found, *warning)
	}
	for _, warning := range found {
		w.logOnce(warning)
	}
	return found
}

// EndIdleLaunch ends the launcher if all its ranks have ended for so long that it is over, and returns what was seen then.
func (w *StallWatch) EndIdleLaunch(now time.Time) (seen string, over bool) {
	if !w.idle.isOver(now) {
		return "", false
	}
	w.Log.Print("end the launcher: ", w.idle.String())
	_ = hydra.EndLauncher(w.idle.launcher, 0, nil) // it may have ended meanwhile
	return w.idle.String(), true
}

// maxLogged bounds the lines of a long job.
const maxLogged = 32

func (w *StallWatch) logOnce(warning mpi.JobWarning) {
	if key := warning.Message; !w.logged[key] && len(w.logged) < maxLogged {
		w.logged[key] = true
		w.Log.Print("the job goes on, and may wait forever: ", warning.Message)
	}
}
