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
		if report.World == 0 {
			continue
		}
		if size != 0 && report.World != size {
			return nil, false
		}
		size = report.World
	}
	for number := 0; number < size && len(missing) <= mostRanks; number++ {
		if !seen[number] {
			missing = append(missing, number)
		}
	}
	return missing, size > 0
}
