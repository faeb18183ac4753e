package server

import (
	"net"
	"sync"
)

// hall is where connections wait that have not authenticated. It has a number of places, and fewer for each peer.
type hall struct {
	places  chan struct{}
	perPeer int

	mu    sync.Mutex
	peers map[string]int
}

func newHall(limits Limits) *hall {
	return &hall{places: make(chan struct{}, limits.Unauthenticated), perPeer: limits.PerPeer, peers: map[string]int{}}
}

// await takes a place as soon as one is free.
func (h *hall) await() { h.places <- struct{}{} }

// enter gives the place that await has taken to a connection. When the peer has too many already, the place is free again
// and the connection is not admitted. The returned function gives the place up.
func (h *hall) enter(conn net.Conn) (leave func(), admitted bool) {
	peer, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		peer = conn.RemoteAddr().String()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.peers[peer] >= h.perPeer {
		<-h.places
		return nil, false
	}
	h.peers[peer]++
	return func() { h.leave(peer) }, true
}

func (h *hall) leave(peer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.peers[peer]--; h.peers[peer] == 0 {
		delete(h.peers, peer)
	}
	<-h.places
}
