package verdict

import (
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
)

// assignEarlyExitNumbers gives their numbers to ranks that were gone before anybody saw them: those that no pod saw of the world. It does so only
// where that is certain: all that are missing were in one pod. The lists of numbers are of no use afterwards.
func (e Evidence) assignEarlyExitNumbers() Evidence {
	missing, alike := e.unseenRanks()
	var unnamed []*mpi.RankEnd
	pods, inPods := e.podReports(), 0
	for i := range pods {
		pods[i].Numbers, pods[i].Ranks = nil, slices.Clone(pods[i].Ranks)
		before := len(unnamed)
		for j, end := range pods[i].Ranks {
			if end.Early && end.Rank == nil && end.Host == "" {
				unnamed = append(unnamed, &pods[i].Ranks[j])
			}
		}
		if len(unnamed) > before {
			inPods++
		}
	}
	if alike && inPods == 1 && len(unnamed) == len(missing) {
		for i, end := range unnamed {
			end.Rank = &missing[i]
		}
	}
	return e.withPods(pods)
}

// unseenRanks returns the ranks of the newest launch that no pod saw, in order, and false where nobody knows how many there were.
func (e Evidence) unseenRanks() (missing []int, known bool) {
	seen, size := map[int]bool{}, 0
	for _, report := range e.podReports() {
		for _, number := range report.Numbers {
			seen[number] = true
		}
		if report.World != 0 {
			size = MergeWorldSize(size, report.World)
		}
	}
	return MissingRanks(seen, size, MaxRanks+1), size > 0
}

// MissingRanks returns the first ranks of a world that are not among some, in order, and at most so many.
func MissingRanks(among map[int]bool, world, most int) []int {
	var missing []int
	for number := 0; number < world && len(missing) < most; number++ {
		if !among[number] {
			missing = append(missing, number)
		}
	}
	return missing
}

// MergeWorldSize returns a number of which more than one tells, -1 where they differ. 0 is none yet.
func MergeWorldSize(before, now int) int {
	if before != 0 && before != now {
		return -1
	}
	return now
}
