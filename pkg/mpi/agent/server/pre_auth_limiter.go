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
	handshakes *fairShares
	waiting    *fairShares
	// queue has those that wait, in their order.
	queue []*queuedConnection
}

// queuedConnection is a connection that waits. admitted is closed when it has a place.
type queuedConnection struct {
	peer     string
	admitted chan struct{}
}

func newPreAuthLimiter(limits Limits) *preAuthLimiter {
	return &preAuthLimiter{
		timeout: limits.Handshake, handshakes: newFairShares(limits.Unauthenticated, limits.PerPeer), waiting: newFairShares(limits.Waiting, limits.WaitingPerPeer),
	}
}

// awaitPlace returns when a connection has a place, which the returned function gives up, or may not have one: too many of its peer are
// there already, or it has waited too long.
func (l *preAuthLimiter) awaitPlace(ctx context.Context, conn net.Conn) (leave func(), admitted bool) {
	peer := peerAddress(conn)
	leave = func() { l.releasePlace(peer) }
	w, admitted := l.takePlaceOrQueue(peer)
	if w == nil {
		return leave, admitted
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	select {
	case <-w.admitted:
		return leave, true
	case <-ctx.Done():
		return leave, l.leaveQueue(w)
	}
}

// takePlaceOrQueue gives a connection a place at once, or lets it wait, or neither.
func (l *preAuthLimiter) takePlaceOrQueue(peer string) (w *queuedConnection, admitted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handshakes.takePlace(peer) {
		return nil, true
	}
	if !l.waiting.takePlace(peer) {
		return nil, false
	}
	w = &queuedConnection{peer, make(chan struct{})}
	l.queue = append(l.queue, w)
	return w, false
}

// releasePlace gives the place of a peer to the first of those that may have it: usually one of a peer with fewer places.
func (l *preAuthLimiter) releasePlace(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handshakes.returnPlace(peer)
	l.queue = slices.DeleteFunc(l.queue, func(w *queuedConnection) bool {
		if !l.handshakes.takePlace(w.peer) {
			return false
		}
		l.waiting.returnPlace(w.peer)
		close(w.admitted)
		return true
	})
}

// leaveQueue ends a wait, and reports whether it had ended already.
func (l *preAuthLimiter) leaveQueue(w *queuedConnection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue, w)
	if i < 0 {
		return true
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	l.waiting.returnPlace(w.peer)
	return false
}

// peerAddress is that of the other side, without its port.
func peerAddress(conn net.Conn) string {
	peer, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	return peer
}
