package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// A command may go on for long after its last launch, and needs no node any more then: one that is deleted or drained meanwhile has
// done its work. So the nodes are asked what ran there as soon as no launch runs, and not only when the command has ended.

const (
	// settleLook is the time between two looks whether no launch runs any more, which costs nothing.
	settleLook = 50 * time.Millisecond
	// settleAgain is when nodes are asked again that did not all say that nothing runs there any more. The launch may not have been seen,
	// daemons may be late, and what a launch leaves behind may work on, as that of Ray does.
	settleAgain = 10 * time.Second
)

// settled keeps what the nodes said when no launch ran.
type settled struct {
	// stop ends the questions.
	stop context.CancelFunc

	mu       sync.Mutex
	accounts map[string]client.Account
}

func (l Launcher) startSettling(ctx context.Context, table mpi.HostTable, own *ranks) *settled {
	ctx, stop := context.WithCancel(ctx)
	known := &settled{stop: stop, accounts: map[string]client.Account{}}
	go l.settle(ctx, table, own, known)
	return known
}

// settle asks the nodes whenever a launch has ended, until the context ends.
func (l Launcher) settle(ctx context.Context, table mpi.HostTable, own *ranks, known *settled) {
	for asked := time.Now(); sleep(ctx, settleLook); {
		quiet := own.quietSince()
		late := time.Since(asked) > settleAgain && !known.idle(l.gate().nodes(), quiet)
		if !quiet.IsZero() && (late || own.launched() && quiet.After(asked)) {
			asked = time.Now()
			l.askSettled(ctx, table, known)
		}
	}
}

func (l Launcher) askSettled(ctx context.Context, table mpi.HostTable, known *settled) {
	var group sync.WaitGroup
	for _, node := range l.gate().nodes() {
		group.Go(func() {
			if account, err := l.report(ctx, node, table); err == nil {
				known.mu.Lock()
				defer known.mu.Unlock()
				known.accounts[node.Name] = account
			}
		})
	}
	group.Wait()
}

// of returns what a node said last, and whether it did after a moment.
func (s *settled) of(node mpi.Host, after time.Time) (account client.Account, since bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account = s.accounts[node.Name]
	return account, !after.IsZero() && account.Received.After(after)
}

// idle says whether all nodes have said since a moment that nothing runs there.
func (s *settled) idle(nodes []mpi.Host, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(nodes, func(node mpi.Host) bool {
		account, known := s.accounts[node.Name]
		return !known || account.Progress.Processes > 0 || !account.Received.After(since)
	})
}

// lostSince says whether a node was lost after it had said something.
func lostSince(node mpi.Host, account client.Account, losses []loss) bool {
	return slices.ContainsFunc(losses, func(l loss) bool {
		return firstLabel(l.Host) == firstLabel(node.Name) && l.At.After(account.Received)
	})
}

// sawQuiet notes whether a launch runs at a look.
func (r *ranks) sawQuiet(processes []proc.Process, look time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range alive(processes) {
		if ofLaunch(p) {
			r.quiet, r.hasLaunched = time.Time{}, true
			return
		}
	}
	if r.quiet.IsZero() {
		r.quiet = look
	}
}

// quietSince is since when no launch runs in this pod, as far as its looks tell, zero while one does.
func (r *ranks) quietSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet
}

// launched says whether a launch was ever seen.
func (r *ranks) launched() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasLaunched
}

// idleSeconds is for how long nobody has needed the nodes: no launch has run since a moment and lost one, and they have said that
// nothing runs there.
func (l Launcher) idleSeconds(quiet time.Time, known *settled, losses []loss, now time.Time) float64 {
	lost := slices.ContainsFunc(losses, func(l loss) bool { return l.At.After(quiet) })
	if quiet.IsZero() || lost || !known.idle(l.gate().nodes(), quiet) {
		return 0
	}
	return mpi.Seconds(now.Sub(quiet).Seconds())
}
