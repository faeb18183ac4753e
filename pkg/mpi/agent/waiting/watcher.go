package waiting

import (
	"fmt"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	// maxNamed is how many stragglers are named of a job while it runs.
	maxNamed = 8
	// allRanks stands for all of them among those that have been named, and always is the part of the time that is all of it: clocks of pods are read
	// one after the other.
	allRanks = -1
	always   = 0.99
	// shortest is a time in seconds that is too short to judge by.
	shortest = 10
)

// Watcher names stragglers while a job runs, each once.
type Watcher struct {
	before map[int]placedRank
	named  map[int]bool
}

// Observe takes in how long the ranks have waited so far, and says what is remarkable of the time since the last look, or nothing.
func (w *Watcher) Observe(launch Launch) string {
	var shares []rankShare
	seconds := 0.0
	now, answered, anew := map[int]placedRank{}, map[string]bool{}, false
	for _, rank := range launch {
		now[rank.Rank], answered[rank.host] = rank, true
		old, known := w.before[rank.Rank]
		if old.host != rank.host || old.Age >= rank.Age {
			old, anew = placedRank{}, anew || known // it was not there, or belonged to another launch
		}
		if passed := rank.afterStart() - old.afterStart(); passed >= shortest {
			seconds = max(seconds, passed)
			shares = append(shares, rankShare{rank, min(1, max(0, rank.inside()-old.inside())/passed)})
		}
	}
	// A pod that does not answer this time is compared with what it said last when it does again, and not with its beginning.
	for number, old := range w.before {
		if _, again := now[number]; !again && !answered[old.host] && !anew {
			now[number] = old
		}
	}
	w.before = now
	if len(shares) < 2 || len(w.named) >= maxNamed {
		return ""
	}
	sortShares(shares)
	if straggler, found := findStraggler(shares); found {
		return w.once(straggler.Rank, describeStraggler(straggler, shares, fmt.Sprintf("the last %.0f s", seconds)))
	}
	if len(shares) == len(now) && shares[0].part >= always {
		return w.once(allRanks, fmt.Sprintf("all %d ranks were inside of MPI for the whole of the last %.0f s%s: they wait for each other, or for messages that take so long",
			len(shares), seconds, describeInside(shares)))
	}
	return ""
}

func (w *Watcher) once(rank int, line string) string {
	if w.named[rank] {
		return ""
	}
	if w.named == nil {
		w.named = map[int]bool{}
	}
	w.named[rank] = true
	return line
}

// describeInside counts the ranks in each kind of call, and names one that is alone in its kind, nothing for ranks that are outside by now.
func describeInside(shares []rankShare) string {
	var parts []string
	for _, kind := range mpi.CallKindNames {
		count, last := 0, 0
		for _, s := range shares {
			if s.Inside == kind {
				count, last = count+1, s.Rank
			}
		}
		switch {
		case count == 1 && len(shares) > 1:
			parts = append(parts, fmt.Sprintf("rank %d in %s", last, kind))
		case count > 0:
			parts = append(parts, fmt.Sprintf("%d in %s", count, kind))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ", at last " + strings.Join(parts, ", ")
}
