package server

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// preAuthLimiter admits connections that have not authenticated: in their handshake, or waiting for it. All are taken in as they come:
// those that wait in the queue of the kernel come out of it in their order, the flood before who means well.
type preAuthLimiter struct {
	// timeout is how long a connection may wait.
	timeout time.Duration

	mu         sync.Mutex
	handshakes *shares
	waiting    *shares
	// queue has those that wait, in their order.
	queue []*waiter
}

// waiter is a connection that waits. admitted is closed when it has a place.
type waiter struct {
	peer     string
	admitted chan struct{}
}

func newPreAuthLimiter(limits Limits) *preAuthLimiter {
	return &preAuthLimiter{
		timeout: limits.Handshake, handshakes: newShares(limits.Unauthenticated, limits.PerPeer), waiting: newShares(limits.Waiting, limits.WaitingPerPeer),
	}
}

// enter returns when a connection has a place, which the returned function gives up, or may not have one: too many of its peer are
// there already, or it has waited too long.
func (l *preAuthLimiter) enter(ctx context.Context, conn net.Conn) (leave func(), admitted bool) {
	peer := addressOf(conn)
	leave = func() { l.leave(peer) }
	w, admitted := l.queued(peer)
	if w == nil {
		return leave, admitted
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	select {
	case <-w.admitted:
		return leave, true
	case <-ctx.Done():
		return leave, l.admittedMeanwhile(w)
	}
}

// queued gives a connection a place at once, or lets it wait, or neither.
func (l *preAuthLimiter) queued(peer string) (w *waiter, admitted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handshakes.take(peer) {
		return nil, true
	}
	if !l.waiting.take(peer) {
		return nil, false
	}
	w = &waiter{peer, make(chan struct{})}
	l.queue = append(l.queue, w)
	return w, false
}

// leave gives the place of a peer to the first of those that may have it: usually one of a peer with fewer places.
func (l *preAuthLimiter) leave(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handshakes.give(peer)
	l.queue = slices.DeleteFunc(l.queue, func(w *waiter) bool {
		if !l.handshakes.take(w.peer) {
			return false
		}
		l.waiting.give(w.peer)
		close(w.admitted)
		return true
	})
}

// admittedMeanwhile ends a wait, and reports whether it had ended already.
func (l *preAuthLimiter) admittedMeanwhile(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue, w)
	if i < 0 {
		return true
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	l.waiting.give(w.peer)
	return false
}

// addressOf is that of the other side, without its port.
func addressOf(conn net.Conn) string {
	peer, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	return peer
}
