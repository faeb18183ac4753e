package tracefile

// Newest returns the ranks that wrote since the newest launch began, so many seconds ago, by their numbers, or all where none has: a launch that is
// no MPI program hides no earlier one. Where two pods tell of a rank, the one that is younger counts. Identify returns the number of a rank, and how
// many seconds old it is.
func Newest[Rank any](ranks []Rank, began float64, identify func(Rank) (number int, age float64)) map[int]Rank {
	newest, all := map[int]Rank{}, map[int]Rank{}
	keep := func(kept map[int]Rank, rank Rank) {
		number, age := identify(rank)
		if other, known := kept[number]; known {
			if _, otherAge := identify(other); age >= otherAge {
				return
			}
		}
		kept[number] = rank
	}
	for _, rank := range ranks {
		keep(all, rank)
		if _, age := identify(rank); age <= began {
			keep(newest, rank)
		}
	}
	if len(newest) == 0 {
		return all
	}
	return newest
}
