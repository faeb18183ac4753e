package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// MPI libraries mostly wait by spinning, so that the CPU time of a rank does not tell whether it works or waits for others. What the kernel
// does tell of a rank is that it would have run and could not: that one holds up all who wait for it.

const (
	// heldUpWindow is how far apart two looks are at least that are compared: what other programs take for a moment says nothing.
	heldUpWindow = 30 * time.Second
	// heldUpShare is the share of that time from which a rank is named.
	heldUpShare = 0.25
	// unlikeMedian is how many times the median makes a rank one to name: where all are held up alike, none is to blame.
	unlikeMedian = 1.5
	// allRanks stands for all of them in the place of one.
	allRanks = -1
)

// heldUpRanks remembers how long the ranks had waited for a processor at an earlier look.
type heldUpRanks struct {
	at    time.Time
	ranks map[rankProcess]mpi.RankSchedule
	// current is the warning about the rank that is held up most, or all, nil if none is; rank is which.
	current *mpi.JobWarning
	rank    int
}

// rankProcess is a process of a rank: its children have its number too.
type rankProcess struct {
	host string
	pid  int
}

type heldUpRank struct {
	rank  int
	host  string
	share float64
}

// observePods takes in what the ranks of all pods do, and returns the warning about the one that is held up most. Its words stay the same
// as long as it is the same one.
func (h *heldUpRanks) observePods(now time.Time, pods map[string]mpi.Progress) *mpi.JobWarning {
	window := now.Sub(h.at)
	if window < heldUpWindow {
		return h.current
	}
	before := h.ranks
	h.at, h.ranks = now, map[rankProcess]mpi.RankSchedule{}
	found := map[int]heldUpRank{}
	for host, pod := range pods {
		for _, r := range pod.Ranks {
			this := rankProcess{host, r.PID}
			h.ranks[this] = r
			if old, known := before[this]; known && old.Rank == r.Rank {
				share := min(1, max(0, r.WaitedSeconds-old.WaitedSeconds)/window.Seconds())
				found[r.Rank] = worseOf(found[r.Rank], heldUpRank{r.Rank, host, share})
			}
		}
	}
	h.noteWorst(slices.SortedFunc(maps.Values(found), compareHeldUp), window)
	return h.current
}

func worseOf(a, b heldUpRank) heldUpRank {
	if a.host == "" || compareHeldUp(b, a) < 0 {
		return b
	}
	return a
}

// compareHeldUp sorts who is held up most first.
func compareHeldUp(a, b heldUpRank) int {
	return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.rank, b.rank), cmp.Compare(a.host, b.host))
}

// noteWorst sets the warning about the first of the ranks, which are sorted.
func (h *heldUpRanks) noteWorst(ranks []heldUpRank, window time.Duration) {
	if len(ranks) == 0 || ranks[0].share < heldUpShare {
		h.current = nil
		return
	}
	worst, median := ranks[0], ranks[len(ranks)/2].share
	if worst.share < unlikeMedian*median {
		worst.rank = allRanks
	}
	if h.current != nil && h.rank == worst.rank {
		return
	}
	h.rank = worst.rank
	h.current = &mpi.JobWarning{Reason: mpi.ReasonRankHeldUp, Message: worst.describe(window, len(ranks), median)}
}

func (r heldUpRank) describe(window time.Duration, ranks int, median float64) string {
	if r.rank == allRanks {
		return fmt.Sprintf("the ranks were ready to run and waited for a processor in %.0f %% of %.0f s, the median of %d, and none waited much longer: "+
			"their machines or the CPU limits of their pods have too few processors for what runs there", 100*median, window.Seconds(), ranks)
	}
	return fmt.Sprintf("rank %d on %s was ready to run and waited for a processor in %.0f %% of %.0f s, the median of %d ranks in %.0f %%: "+
		"those that wait for it are slow with it; its machine or the CPU limit of its pod has too few processors for what runs there",
		r.rank, r.host, 100*r.share, window.Seconds(), ranks, 100*median)
}
