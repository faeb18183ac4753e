package logs

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

const (
	// hold is how long a line waits for lines of others that are older: a new pod is seen after listEvery at the latest. maxHold is how long it
	// waits for others whose connection has broken: what is shown is at most 5 s behind.
	hold    = 2 * time.Second
	maxHold = 4 * time.Second
	// queued and queuedBytes are how many lines of a source wait, and how long they are together. Then its reader waits; if
	// all read live, its oldest line does not.
	queued      = 1 << 14
	queuedBytes = 4 << 20
	// mergedBytes is how long the lines of all sources are together that wait, apart from a batch for each.
	mergedBytes = 64 << 20
)

// readState is how far a reader is.
type readState int

const (
	// behind: it reads what was there before, and everybody waits for it.
	behind readState = iota
	// live: it follows. broken: it will, once it is connected again.
	live
	broken
	ended
)

// LineMerge puts the lines of many sources into one order by time. The order within a source stays. A line waits until no other source can
// have an older one; those that follow are waited for only for a moment, because one that prints nothing cannot say so.
type LineMerge struct {
	mu      sync.Mutex
	changed chan struct{}
	heads   queueHeap
	// empty counts the sources without a line by their state.
	empty [ended + 1]int
	open  int
	// more: sources may be added. Done: nobody takes lines any more.
	more, done bool
	now        func() time.Time
	// bytes is how long all lines are that wait, and most how long they may be.
	bytes, most int
	room        *sync.Cond
}

// NewLineMerge returns a LineMerge without sources. It ends when all have ended and CloseSources was called.
func NewLineMerge() *LineMerge {
	m := &LineMerge{changed: make(chan struct{}, 1), more: true, now: time.Now, most: mergedBytes}
	m.room = sync.NewCond(&m.mu)
	return m
}

// sourceQueue holds the lines of one source that are not given out.
type sourceQueue struct {
	m       *LineMerge
	id      int
	state   readState
	batches []lineBatch
	lines   int
	bytes   int
	newest  time.Time
}

// isFull reports whether its reader waits. A source without lines never does: all may wait for its next one.
func (q *sourceQueue) isFull() bool {
	return q.lines >= queued || q.bytes >= queuedBytes || q.lines > 0 && q.m.bytes >= q.m.most
}

type lineBatch struct {
	lines   []Line
	arrived time.Time
}

// sortTime is the time by which the head is sorted: a line that is older than one before it in its source does not overtake it.
func (q *sourceQueue) sortTime() time.Time { return laterTime(q.newest, q.batches[0].lines[0].Time) }

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *LineMerge) addSource(id int, s readState) *sourceQueue {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &sourceQueue{m: m, id: id, state: s}
	m.empty[s]++
	m.open++
	return q
}

// CloseSources says that no sources will be added.
func (m *LineMerge) CloseSources() {
	m.mu.Lock()
	m.more = false
	m.mu.Unlock()
	m.wakeEach()
}

func (m *LineMerge) wakeEach() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// pushLines waits while too many lines wait already. It returns an error when nobody takes lines any more.
func (q *sourceQueue) pushLines(lines []Line) error {
	m := q.m
	m.mu.Lock()
	for q.isFull() && !m.done {
		m.room.Wait()
	}
	if m.done {
		m.mu.Unlock()
		return context.Canceled
	}
	if q.lines == 0 {
		m.empty[q.state]--
	}
	q.batches = append(q.batches, lineBatch{lines, m.now()})
	q.lines += len(lines)
	for _, line := range lines {
		q.bytes += len(line.Raw)
		m.bytes += len(line.Raw)
	}
	if len(q.batches) == 1 {
		heap.Push(&m.heads, q)
	}
	m.mu.Unlock()
	m.wakeEach()
	return nil
}

// setEnded is said by a reader that has read all.
func (q *sourceQueue) setEnded() { q.changeState(func(readState) readState { return ended }) }

// setLive is said by a reader that reads live; where its connection had broken, it does so again.
func (q *sourceQueue) setLive() {
	q.changeState(func(now readState) readState {
		if now == ended {
			return now
		}
		return live
	})
}

// setBroken is said by a reader whose connection broke. One that is behind stays so: all wait for it already.
func (q *sourceQueue) setBroken() {
	q.changeState(func(now readState) readState {
		if now == live {
			return broken
		}
		return now
	})
}

func (q *sourceQueue) changeState(to func(readState) readState) {
	m := q.m
	m.mu.Lock()
	s := to(q.state)
	if q.lines == 0 {
		m.empty[q.state]--
		m.empty[s]++
	}
	if s == ended && q.state != ended {
		m.open--
	}
	q.state = s
	m.mu.Unlock()
	m.wakeEach()
}

func (q *sourceQueue) hasState(s readState) bool {
	q.m.mu.Lock()
	defer q.m.mu.Unlock()
	return q.state == s
}

// DeliverInOrder calls give with the lines in order, many at once, until all sources have ended or the context is.
func (m *LineMerge) DeliverInOrder(ctx context.Context, give func([]Line) error) error {
	defer m.releaseReaders()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	out := make([]Line, 0, batchLines)
	for {
		var wait time.Duration
		var done bool
		out, wait, done = m.takeReady(out[:0])
		if len(out) > 0 {
			if err := give(out); err != nil {
				return err
			}
			continue
		}
		if done {
			return ctx.Err() // Readers that were interrupted end, too.
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.changed:
		case <-timer.C:
		}
	}
}

// releaseReaders lets readers go that wait for room, when nobody takes lines any more.
func (m *LineMerge) releaseReaders() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = true
	m.room.Broadcast()
}

// takeReady returns the lines that may be shown now, or how long to wait for the next.
func (m *LineMerge) takeReady(out []Line) (lines []Line, wait time.Duration, done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for bytes := 0; len(m.heads) > 0 && len(out) < cap(out) && bytes < batchBytes; bytes += len(out[len(out)-1].Raw) {
		q := m.heads[0]
		if left := m.remainingHold(q, now); left > 0 {
			return out, left, false
		}
		out = append(out, m.popLine(q))
	}
	return out, time.Hour, len(m.heads) == 0 && m.open == 0 && !m.more
}

// remainingHold returns how long the oldest line still waits.
func (m *LineMerge) remainingHold(q *sourceQueue, now time.Time) time.Duration {
	held := now.Sub(q.batches[0].arrived)
	switch {
	case m.empty[behind] > 0:
		return time.Hour
	case q.isFull():
		return 0
	case m.empty[broken] > 0:
		return maxHold - held
	case m.empty[live] > 0:
		return hold - held
	}
	return 0
}

func (m *LineMerge) popLine(q *sourceQueue) Line {
	first, full := &q.batches[0], q.isFull()
	line := first.lines[0]
	q.newest = laterTime(q.newest, line.Time)
	if first.lines = first.lines[1:]; len(first.lines) == 0 {
		q.batches = q.batches[1:]
	}
	q.bytes -= len(line.Raw)
	m.bytes -= len(line.Raw)
	if q.lines--; q.lines == 0 {
		heap.Pop(&m.heads)
		m.empty[q.state]++
	} else {
		heap.Fix(&m.heads, 0)
	}
	if full && !q.isFull() {
		m.room.Broadcast()
	}
	return line
}

// queueHeap is a heap of those that hold lines, the oldest first; of equal times that of the source that was added first.
type queueHeap []*sourceQueue

func (h queueHeap) Len() int { return len(h) }
func (h queueHeap) Less(i, j int) bool {
	a, b := h[i].sortTime(), h[j].sortTime()
	return a.Before(b) || a.Equal(b) && h[i].id < h[j].id
}
func (h queueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop are for container/heap.
func (h *queueHeap) Push(x any) { *h = append(*h, x.(*sourceQueue)) }

// Pop removes the last.
func (h *queueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
