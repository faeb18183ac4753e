package probe

// countRounds returns how many rounds a tournament of n ranks has.
func countRounds(n int) int { return n + n%2 - 1 }

// opponentOf returns whom a rank meets in a round, and false when it rests: the circle method, by which everybody meets
// everybody once and nobody meets two at a time.
func opponentOf(rank, round, n int) (int, bool) {
	circle := countRounds(n) // all but the last place of an even number
	other := ((2*round-rank)%circle + circle) % circle
	switch {
	case rank == circle: // the fixed place
		other = round
	case other == rank:
		other = circle
	}
	return other, other < n
}
