package exitstatus

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// endQueue takes the ends of processes from the kernel in their order. A goroutine for each would lose it: Go's poller
// wakes the last one first, and a launcher kills the other ranks of a node as soon as one has failed.
type endQueue struct {
	mu      sync.Mutex
	epoll   int
	begun   bool
	next    int32
	watched map[int32]*WatchedProcess
	last    time.Time
}

var all = endQueue{watched: map[int32]*WatchedProcess{}}

// add begins to wait for the end of a process.
func (q *endQueue) add(p *WatchedProcess) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.begun {
		fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return fmt.Errorf("wait for processes: %w", err)
		}
		q.epoll, q.begun = fd, true
		go q.run()
	}
	q.next++
	event := &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: q.next}
	if err := unix.EpollCtl(q.epoll, unix.EPOLL_CTL_ADD, int(p.file.Fd()), event); err != nil {
		return fmt.Errorf("wait for it: %w", err)
	}
	q.watched[q.next], p.number = p, q.next
	return nil
}

// remove waits no more for a process.
func (q *endQueue) remove(p *WatchedProcess) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.watched[p.number] != p {
		return
	}
	delete(q.watched, p.number)
	_ = unix.EpollCtl(q.epoll, unix.EPOLL_CTL_DEL, int(p.file.Fd()), nil)
	p.err = fmt.Errorf("wait for process %d: %w", p.pid, os.ErrClosed)
	close(p.over)
}

// run notes ends as long as the program runs. It takes them out of the queue under the lock only: Settle would miss
// an end between the queue and its note.
func (q *endQueue) run() {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(q.epoll), Events: unix.POLLIN}}, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return // not possible for a descriptor of our own
		}
		q.settle()
	}
}

// settle notes the ends that came until now. The kernel lists them in the order in which they came.
func (q *endQueue) settle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.begun {
		return
	}
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(q.epoll, events, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			return
		}
		for _, event := range events[:n] {
			p := q.watched[event.Fd]
			if p == nil {
				continue
			}
			delete(q.watched, event.Fd)
			if now := time.Now(); now.After(q.last) {
				q.last = now
			} else {
				q.last = q.last.Add(time.Nanosecond)
			}
			p.note(q.last)
		}
	}
}
