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
	// heldUpShare is the share of that time from which a rank is named, maxHeldUp how many are named of a job.
	heldUpShare = 0.25
	maxHeldUp   = 8
	// unlikeMedian is how many times the median makes a rank one to name: where all are held up alike, none is to blame.
	unlikeMedian = 1.5
	// allRanks stands for all of them among those that have been named.
	allRanks = -1
)

// heldUpRanks remembers how long the ranks had waited for a processor at an earlier look, and who has been named.
type heldUpRanks struct {
	at    time.Time
	ranks map[rankProcess]mpi.RankSchedule
	named map[int]bool
}

// rankProcess is a process of a rank: its children have its number too.
type rankProcess struct {
	host string
	pid  int
}

type heldUpRank struct {
	rank    int
	host    string
	share   float64
	stopped bool
}

// observePods takes in what the ranks of all pods do, and says which of them is held up most of those that it has not named yet, or nothing.
func (h *heldUpRanks) observePods(now time.Time, pods map[string]mpi.Progress) string {
	window := now.Sub(h.at)
	if window < heldUpWindow {
		return ""
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
				found[r.Rank] = worseOf(found[r.Rank], heldUpRank{r.Rank, host, share, r.Stopped && old.Stopped})
			}
		}
	}
	return h.nameWorst(slices.SortedFunc(maps.Values(found), compareHeldUp), window)
}

func worseOf(a, b heldUpRank) heldUpRank {
	if a.host == "" || compareHeldUp(b, a) < 0 {
		return b
	}
	return a
}

// compareHeldUp sorts who is held up most first.
func compareHeldUp(a, b heldUpRank) int {
	if a.stopped != b.stopped {
		if a.stopped {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.rank, b.rank), cmp.Compare(a.host, b.host))
}

func (h *heldUpRanks) nameWorst(ranks []heldUpRank, window time.Duration) string {
	i := slices.IndexFunc(ranks, func(r heldUpRank) bool { return !h.named[r.rank] && (r.stopped || r.share >= heldUpShare) })
	if i < 0 || len(h.named) == maxHeldUp {
		return ""
	}
	worst, median := ranks[i], ranks[len(ranks)/2].share
	if h.named == nil {
		h.named = map[int]bool{}
	}
	switch {
	case worst.stopped:
		h.named[worst.rank] = true
		return fmt.Sprintf("rank %d on %s is stopped, as by SIGSTOP, and was %.0f s ago: those that wait for it go on once it gets SIGCONT", worst.rank, worst.host, window.Seconds())
	case worst.share >= unlikeMedian*median:
		h.named[worst.rank] = true
		return fmt.Sprintf("rank %d on %s was ready to run and waited for a processor in %.0f %% of the last %.0f s, the median of %d ranks in %.0f %%: those that wait for it are slow with it; its machine or the CPU limit of its pod has too few processors for what runs there",
			worst.rank, worst.host, 100*worst.share, window.Seconds(), len(ranks), 100*median)
	case h.named[allRanks]:
		return ""
	}
	h.named[allRanks] = true
	return fmt.Sprintf("the ranks were ready to run and waited for a processor in %.0f %% of the last %.0f s, the median of %d, and none waited much longer: their machines or the CPU limits of their pods have too few processors for what runs there",
		100*median, window.Seconds(), len(ranks))
}
