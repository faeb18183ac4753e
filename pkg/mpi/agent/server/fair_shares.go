package server

// fairShares are places of which nobody may take so many that others find none. Nobody has to be cut off for it, so who is slow and means well
// is not.
type fairShares struct {
	places, taken int
	// most is how many one address may have while no other has any.
	most  int
	peers map[string]int
}

func newFairShares(places, most int) *fairShares {
	return &fairShares{places: places, most: most, peers: map[string]int{}}
}

// takePlace gives an address one more place, if it may have one: in proportion to those that are free, so that who comes later gets no more
// than who came before, and one at least while there is one. A limit for each address alone would have to be
// lower: 64 addresses that take their 8 of 256 places have them all.
func (s *fairShares) takePlace(peer string) bool {
	if s.peers[peer]*(s.places-s.most) >= s.most*(s.places-s.taken) {
		return false
	}
	s.taken++
	s.peers[peer]++
	return true
}

func (s *fairShares) returnPlace(peer string) {
	s.taken--
	if s.peers[peer]--; s.peers[peer] == 0 {
		delete(s.peers, peer)
	}
}
