package probe

// rounds returns how many rounds a tournament of n ranks has.
func rounds(n int) int { return n + n%2 - 1 }

// opponent returns whom a rank meets in a round, and false when it rests: the circle method, by which everybody meets
// everybody once and nobody meets two at a time.
func opponent(rank, round, n int) (int, bool) {
	circle := rounds(n) // all but the last place of an even number
	other := ((2*round-rank)%circle + circle) % circle
	switch {
	case rank == circle: // the fixed place
		other = round
	case other == rank:
		other = circle
	}
	return other, other < n
}
