package launch

import (
	"log"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// waitingNodes is the state of a gate: which nodes have not answered, and why.
type waitingNodes struct {
	mu   sync.Mutex
	last []*mpi.NodeFailure // nil for nodes that have answered
	// doubtful are the nodes that something seems to keep from answering.
	doubtful map[int]bool
	took     []float64 // seconds of the attempts that were answered
}

func newWaitingNodes(nodes int) *waitingNodes {
	w := &waitingNodes{last: make([]*mpi.NodeFailure, nodes), doubtful: map[int]bool{}}
	for i := range w.last {
		w.last[i] = &mpi.NodeFailure{}
	}
	return w
}

func (w *waitingNodes) noteAnswer(i int, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[i] = nil
	w.took = append(w.took, took.Seconds())
}

// connectSpread describes how long the attempts took that were answered.
func (w *waitingNodes) connectSpread() *mpi.Spread {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mpi.SpreadOf(w.took)
}

func (w *waitingNodes) noteFailure(i int, failure mpi.NodeFailure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[i] = &failure
}

// failures lists the nodes that have not answered, in order.
func (w *waitingNodes) failures() []mpi.NodeFailure {
	return w.listFailures(func(int) bool { return true })
}

// doubts lists the nodes that something seems to keep from answering, in order.
func (w *waitingNodes) doubts() []mpi.NodeFailure {
	return w.listFailures(func(i int) bool { return w.doubtful[i] })
}

func (w *waitingNodes) listFailures(counts func(i int) bool) (failures []mpi.NodeFailure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, failure := range w.last {
		if failure != nil && counts(i) {
			failures = append(failures, *failure)
		}
	}
	return failures
}

// setDoubtful notes whether something seems to keep a node from answering.
func (w *waitingNodes) setDoubtful(i int, doubtful bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubtful[i] = doubtful
}

// logEvery writes a line about missing nodes from time to time, until the returned function is called.
func (w *waitingNodes) logEvery(interval time.Duration, log *log.Logger) (stop func()) {
	ticker, done := time.NewTicker(interval), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				if missing := w.failures(); len(missing) > 0 {
					log.Printf("waiting for %d of %d nodes: %s", len(missing), len(w.last), hosts.DescribeFailures(missing))
				}
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done) }
}
