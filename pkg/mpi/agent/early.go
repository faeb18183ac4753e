package agent

import (
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
)

// nameEarly gives their numbers to ranks that were gone before anybody saw them: those that no pod saw of the world. It does so only
// where that is certain: all that are missing were in one pod. The lists of numbers are of no use afterwards.
func (f facts) nameEarly() facts {
	missing, alike := f.unseenNumbers()
	f.ranks, f.numbers, f.reports = slices.Clone(f.ranks), nil, slices.Clone(f.reports)
	var unnamed []*mpi.RankEnd
	pods := 0
	collect := func(ends []mpi.RankEnd) {
		before := len(unnamed)
		for i := range ends {
			if ends[i].Early && ends[i].Rank == nil && ends[i].Host == "" {
				unnamed = append(unnamed, &ends[i])
			}
		}
		if len(unnamed) > before {
			pods++
		}
	}
	collect(f.ranks)
	for i := range f.reports {
		f.reports[i].Numbers, f.reports[i].Ranks = nil, slices.Clone(f.reports[i].Ranks)
		collect(f.reports[i].Ranks)
	}
	if !alike || pods != 1 || len(unnamed) != len(missing) {
		return f
	}
	for i, end := range unnamed {
		end.Rank = &missing[i]
	}
	return f
}

// unseenNumbers returns the ranks of the newest launch that no pod saw, in order, and false where nobody knows how many there were.
func (f facts) unseenNumbers() (missing []int, known bool) {
	seen, size := map[int]bool{}, 0
	for _, report := range f.allReports() {
		for _, number := range report.Numbers {
			seen[number] = true
		}
		if report.World != 0 {
			size = agreed(size, report.World)
		}
	}
	return absent(seen, size, mostRanks+1), size > 0
}

// absent returns the first ranks of a world that are not among some, in order, and at most so many.
func absent(among map[int]bool, world, most int) []int {
	var missing []int
	for number := 0; number < world && len(missing) < most; number++ {
		if !among[number] {
			missing = append(missing, number)
		}
	}
	return missing
}
