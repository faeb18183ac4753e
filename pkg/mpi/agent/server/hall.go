package server

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// hall is where connections are that have not authenticated: in their handshake, or waiting for it. All are taken in as they come:
// those that wait in the queue of the kernel come out of it in their order, the flood before who means well.
type hall struct {
	// patience is how long a connection may wait.
	patience time.Duration

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

func newHall(limits Limits) *hall {
	return &hall{
		patience: limits.Handshake, handshakes: newShares(limits.Unauthenticated, limits.PerPeer), waiting: newShares(limits.Waiting, limits.WaitingPerPeer),
	}
}

// enter returns when a connection has a place, which the returned function gives up, or may not have one: too many of its peer are
// there already, or it has waited too long.
func (h *hall) enter(ctx context.Context, conn net.Conn) (leave func(), admitted bool) {
	peer := addressOf(conn)
	leave = func() { h.leave(peer) }
	w, admitted := h.queued(peer)
	if w == nil {
		return leave, admitted
	}
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	select {
	case <-w.admitted:
		return leave, true
	case <-ctx.Done():
		return leave, h.admittedMeanwhile(w)
	}
}

// queued gives a connection a place at once, or lets it wait, or neither.
func (h *hall) queued(peer string) (w *waiter, admitted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handshakes.take(peer) {
		return nil, true
	}
	if !h.waiting.take(peer) {
		return nil, false
	}
	w = &waiter{peer, make(chan struct{})}
	h.queue = append(h.queue, w)
	return w, false
}

// leave gives the place of a peer to the first of those that may have it: as a rule to one of a peer with fewer places.
func (h *hall) leave(peer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handshakes.give(peer)
	h.queue = slices.DeleteFunc(h.queue, func(w *waiter) bool {
		if !h.handshakes.take(w.peer) {
			return false
		}
		h.waiting.give(w.peer)
		close(w.admitted)
		return true
	})
}

// admittedMeanwhile ends a wait, and says whether it had ended already.
func (h *hall) admittedMeanwhile(w *waiter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.queue, w)
	if i < 0 {
		return true
	}
	h.queue = slices.Delete(h.queue, i, i+1)
	h.waiting.give(w.peer)
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
