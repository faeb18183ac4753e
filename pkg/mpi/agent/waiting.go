package agent

import (
	"fmt"
	"log"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// waiting is the state of a gate: which nodes have not answered, and why.
type waiting struct {
	mu   sync.Mutex
	last []*mpi.NodeFailure // nil for nodes that have answered
	// doubtful are the nodes that something seems to keep from answering.
	doubtful map[int]bool
	took     []float64 // seconds of the attempts that were answered
}

func newWaiting(nodes int) *waiting {
	w := &waiting{last: make([]*mpi.NodeFailure, nodes), doubtful: map[int]bool{}}
	for i := range w.last {
		w.last[i] = &mpi.NodeFailure{}
	}
	return w
}

func (w *waiting) passed(i int, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[i] = nil
	w.took = append(w.took, took.Seconds())
}

// connect describes how long the attempts took that were answered.
func (w *waiting) connect() *mpi.Spread {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mpi.SpreadOf(w.took)
}

func (w *waiting) failed(i int, failure mpi.NodeFailure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[i] = &failure
}

// failures lists the nodes that have not answered, in order.
func (w *waiting) failures() []mpi.NodeFailure {
	w.mu.Lock()
	defer w.mu.Unlock()
	var failures []mpi.NodeFailure
	for _, failure := range w.last {
		if failure != nil {
			failures = append(failures, *failure)
		}
	}
	return failures
}

// doubt notes whether something seems to keep a node from answering.
func (w *waiting) doubt(i int, doubtful bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubtful[i] = doubtful
}

// doubts lists the nodes that something seems to keep from answering, in order.
func (w *waiting) doubts() []mpi.NodeFailure {
	w.mu.Lock()
	defer w.mu.Unlock()
	var doubts []mpi.NodeFailure
	for i, failure := range w.last {
		if failure != nil && w.doubtful[i] {
			doubts = append(doubts, *failure)
		}
	}
	return doubts
}

// logEvery writes a line about missing nodes from time to time, until the returned function is called.
func (w *waiting) logEvery(interval time.Duration, log *log.Logger) (stop func()) {
	ticker, done := time.NewTicker(interval), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				if missing := w.failures(); len(missing) > 0 {
					log.Printf("waiting for %d of %d nodes: %s", len(missing), len(w.last), describeFailures(missing))
				}
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done) }
}

// maxNamed is the number of nodes that a sentence names.
const maxNamed = 3

// describeFailures names some nodes, for example `demo-node-0-1 (10.244.1.5): connection refused; and 4 more`.
func describeFailures(failures []mpi.NodeFailure) string {
	text := ""
	for i, f := range failures {
		if i == maxNamed {
			return fmt.Sprintf("%s; and %d more", text, len(failures)-maxNamed)
		}
		if i > 0 {
			text += "; "
		}
		text += describeNode(f.Name, f.Address) + ": " + f.Error
	}
	return text
}

func describeNode(name, address string) string {
	if address == "" {
		return firstLabel(name)
	}
	return fmt.Sprintf("%s (%s)", firstLabel(name), address)
}
