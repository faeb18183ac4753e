package launch

import (
	"context"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// hostTableReceiver is where the controller's table of hosts and the launcher's gate meet. A table is taken until the gate has
// decided; then every push gets the same answer and its table is ignored.
type hostTableReceiver struct {
	// needed are the hosts that a table must have.
	needed []mpi.Host
	tables chan mpi.HostTable
	// doubts is what the gate says while it waits.
	doubts chan []mpi.NodeFailure

	// holds is mpi.GateHolds.
	holds time.Duration

	once    sync.Once
	decided chan struct{}
	result  mpi.GateResult
}

func newHostTableReceiver(needed []mpi.Host) *hostTableReceiver {
	return &hostTableReceiver{needed: needed, tables: make(chan mpi.HostTable), doubts: make(chan []mpi.NodeFailure), holds: mpi.GateHolds, decided: make(chan struct{})}
}

// answerPush is the subsystem: it offers a table to the gate and waits for its result. Who knows that the nodes are up hears
// what seems to be in the way before that, and everybody after a while that the gate still waits.
func (r *hostTableReceiver) answerPush(ctx context.Context, request []byte) (any, error) {
	table, err := hosts.DecodeTable(request)
	if err == nil {
		err = hosts.ValidateTable(table, r.needed)
	}
	if err != nil {
		return nil, err
	}
	held := time.After(r.holds)
	select {
	case r.tables <- table:
	case <-r.decided:
	case <-held:
		return mpi.GateResult{Waiting: true}, nil
	case <-ctx.Done():
	}
	doubts := r.doubts
	if !table.Up {
		doubts = nil
	}
	select {
	case <-r.decided:
		return r.result, nil
	case failures := <-doubts:
		return mpi.GateResult{Waiting: true, Failures: failures}.WithinBounds(), nil
	case <-held:
		return mpi.GateResult{Waiting: true}, nil
	case <-ctx.Done():
		select {
		case <-r.decided: // the agent is about to end because of it
			return r.result, nil
		default:
			return nil, ctx.Err()
		}
	}
}

// answerAllPushes gives all pushes their answer. Only the first call counts.
func (r *hostTableReceiver) answerAllPushes(result mpi.GateResult) {
	r.once.Do(func() {
		r.result = result.WithinBounds()
		close(r.decided)
	})
}
