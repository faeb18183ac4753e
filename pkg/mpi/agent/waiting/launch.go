package waiting

import (
	"cmp"
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/tracefile"
)

// HostPod is what the ranks of one pod have counted.
type HostPod struct {
	// Host is how the pod is named.
	Host string
	mpi.NodeWaiting
}

// Launch is how long the ranks of a launch have been inside of MPI, by their numbers.
type Launch []placedRank

type placedRank struct {
	mpi.RankWaiting
	host string
}

// LaunchOf are the ranks that pods tell of since the newest launch began, so many seconds ago, or all where there are none: a launch that is no
// MPI program hides no earlier one. Where two pods tell of a rank, the one that began later counts.
func LaunchOf(pods []HostPod, began float64) Launch {
	var ranks []placedRank
	for _, pod := range pods {
		for _, rank := range pod.Ranks {
			ranks = append(ranks, placedRank{rank, pod.Host})
		}
	}
	newest := tracefile.Newest(ranks, began, func(r placedRank) (int, float64) { return r.Rank, r.Age })
	return slices.SortedFunc(maps.Values(newest), func(a, b placedRank) int { return cmp.Compare(a.Rank, b.Rank) })
}

// afterStart is how long the rank has run since MPI_Init.
func (r placedRank) afterStart() float64 {
	return max(0, r.Seconds-r.Kinds[mpi.MPIStart].Seconds)
}

// inside is how long it was inside of MPI then.
func (r placedRank) inside() float64 {
	var sum float64
	for _, kind := range r.Kinds[mpi.MPIStart+1:] {
		sum += kind.Seconds
	}
	return min(sum, r.afterStart())
}

// share is the part of its run that it was inside of MPI: all of it for one that has not come through MPI_Init, which waits for others too.
func (r placedRank) share() float64 {
	switch {
	case r.Inside == mpi.CallKindNames[mpi.MPIStart]:
		return 1
	case r.afterStart() == 0:
		return 0
	}
	return r.inside() / r.afterStart()
}

// calls are its calls.
func (r placedRank) calls() uint64 {
	var sum uint64
	for _, kind := range r.Kinds {
		sum = max(sum, sum+kind.Calls) // numbers of the user's, which may wrap around
	}
	return sum
}

// shares are the parts of their runs that the ranks were inside of MPI, the smallest first.
func (l Launch) shares() []rankShare {
	var shares []rankShare
	for _, rank := range l {
		shares = append(shares, rankShare{rank, rank.share()})
	}
	return sortShares(shares)
}

// rankShare is a part of some time that a rank was inside of MPI.
type rankShare struct {
	placedRank
	part float64
}

func sortShares(shares []rankShare) []rankShare {
	slices.SortStableFunc(shares, func(a, b rankShare) int { return cmp.Compare(a.part, b.part) })
	return shares
}

func medianOf(shares []rankShare) float64 { return shares[len(shares)/2].part }

// Stragglers, as seen from MPI: the others wait there, and it does not.
const (
	// muchWaiting is the part of the time that the others must wait at least, and apart by how much less a straggler does.
	muchWaiting = 0.1
	apart       = 0.1
)

// findStraggler returns the rank for which the others wait, if there is one.
func findStraggler(shares []rankShare) (rankShare, bool) {
	least, median := shares[0], medianOf(shares)
	return least, median >= muchWaiting && least.part <= median-apart
}
