package agent

import (
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// culprit returns the rank that the failure of the command began with, nil when none is known. Launchers end all ranks when one has
// failed, or when they are told to end themselves: of those that they end none is to blame. The one that failed may have lived too
// short to be seen. Then the launcher names it, or nobody does.
func (f facts) culprit() *mpi.RankEnd {
	first := firstFailed(f.allReports())
	if f.status.Code() == timedOut {
		return f.beforeTimeout(first)
	}
	if first != nil && !endedByLauncher(*first) {
		return first
	}
	if named := f.named(); named != nil {
		if first != nil && named.Ago == 0 {
			named.Ago = first.Ago
		}
		return named
	}
	ends := inOrder(f.allReports())
	if i := slices.IndexFunc(ends, f.passedOn); i >= 0 {
		return &ends[i]
	}
	return nil
}

// timedOut is the code of timeout(1) for a command that it has ended.
const timedOut = 124

// termination is how many seconds a launcher that is told to end takes at most to end its ranks, each in its own way.
const termination = 10

// beforeTimeout returns a rank that failed by itself, when the time of the command was up, nil for none: long before, or else the
// launcher had ended by it. A rank that has the code itself had a timeout of its own, and the launcher passes its code on.
func (f facts) beforeTimeout(first *mpi.RankEnd) *mpi.RankEnd {
	switch {
	case first == nil, endedByLauncher(*first):
		return nil
	case first.Code == timedOut, first.Ago > f.now.Sub(f.ended).Seconds()+termination:
		return first
	}
	return nil
}

// named returns the rank that the launcher names, as its node saw it end where it did. One that nobody saw must have ended as the
// command did: scripts print what they have passed over.
func (f facts) named() *mpi.RankEnd {
	named := diagnose.Reported(f.lines)
	if named == nil {
		return nil
	}
	if seen := rankNumbered(f.allReports(), *named.Rank); seen != nil {
		return seen
	}
	if !f.passedOn(*named) || !f.inWorld(*named.Rank) {
		return nil
	}
	said := firstLabel(named.Host)
	named.Host = "" // any program may print such words, with any text where a host would be
	for _, report := range f.allReports() {
		if said != "" && said == firstLabel(report.Name) {
			named.Host = report.Name
		}
	}
	return named
}

// inWorld says whether a world can have a rank of this number, which may be that of a process in a line of a program.
func (f facts) inWorld(number int) bool {
	largest := 0
	for _, report := range f.allReports() {
		if report.World < 0 {
			return true
		}
		largest = max(largest, report.World)
	}
	return largest == 0 || number < largest
}

// passedOn says whether a rank ended as the command did. Hydra makes the number of a signal its code, and 255 of all codes
// when it is disturbed.
func (f facts) passedOn(end mpi.RankEnd) bool {
	code := f.status.Code()
	return code == end.Code || end.Hydra && endedByLauncher(end) && (code == end.Code-128 || code == 255)
}
