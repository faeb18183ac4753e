package launch

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// A command may go on for long after its last launch, and needs no node any more then: one that is deleted or drained meanwhile has
// done its work. So the nodes are asked what ran there as soon as no launch runs, and not only when the command has ended.

const (
	// quietPoll is the time between two looks whether no launch runs any more, which costs nothing.
	quietPoll = 50 * time.Millisecond
	// askAgain is when nodes are asked again that did not all say that nothing runs there any more. The launch may not have been seen,
	// daemons may be late, and what a launch leaves behind may work on, as that of Ray does.
	askAgain = 10 * time.Second
)

// lastReports keeps what each node said last when no launch ran.
type lastReports struct {
	mu     sync.Mutex
	byName map[string]client.NodeAnswer
}

func newLastReports() *lastReports { return &lastReports{byName: map[string]client.NodeAnswer{}} }

// askAfterLaunches asks the nodes whenever a launch has ended, until the context ends.
func (j *runningJob) askAfterLaunches(ctx context.Context) {
	for asked := time.Now(); sleep.For(ctx, quietPoll); {
		quiet, launched := j.ranks.QuietSince()
		late := time.Since(asked) > askAgain && !j.lastReports.areNodesIdle(j.otherHosts(), quiet)
		if !quiet.IsZero() && (late || launched && quiet.After(asked)) {
			asked = time.Now()
			j.refreshReports(ctx)
		}
	}
}

func (j *runningJob) refreshReports(ctx context.Context) {
	var group sync.WaitGroup
	for _, node := range j.otherHosts() {
		group.Go(func() {
			if answer, err := j.askReport(ctx, client.Attempt, node); err == nil {
				j.lastReports.mu.Lock()
				defer j.lastReports.mu.Unlock()
				j.lastReports.byName[node.Name] = answer
			}
		})
	}
	group.Wait()
}

// answerOf returns what a node said last, and whether it did after a moment.
func (l *lastReports) answerOf(node mpi.Host, after time.Time) (answer client.NodeAnswer, since bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer = l.byName[node.Name]
	return answer, !after.IsZero() && answer.Received.After(after)
}

// areNodesIdle reports whether all nodes have said since a moment that nothing runs there.
func (l *lastReports) areNodesIdle(nodes []mpi.Host, since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(nodes, func(node mpi.Host) bool {
		answer, known := l.byName[node.Name]
		return !known || answer.Progress.Processes > 0 || !answer.Received.After(since)
	})
}

// hasLossSince reports whether a node was lost after it had said something.
func hasLossSince(node mpi.Host, answer client.NodeAnswer, losses []verdict.Loss) bool {
	return slices.ContainsFunc(losses, func(l verdict.Loss) bool {
		return hosts.FirstLabel(l.Host) == hosts.FirstLabel(node.Name) && l.At.After(answer.Received)
	})
}

// idleSeconds is for how long nobody has needed the nodes: no launch has run since a moment and lost one, and they have said that
// nothing runs there.
func (j *runningJob) idleSeconds(quiet time.Time, losses []verdict.Loss, now time.Time) float64 {
	lost := slices.ContainsFunc(losses, func(l verdict.Loss) bool { return l.At.After(quiet) })
	if quiet.IsZero() || lost || !j.lastReports.areNodesIdle(j.otherHosts(), quiet) {
		return 0
	}
	return mpi.RoundSeconds(now.Sub(quiet).Seconds())
}
