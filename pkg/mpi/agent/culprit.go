package agent

import (
	"cmp"
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// culprit returns the rank that the failure of the command began with, nil when none is known. Launchers end all ranks when one has
// failed, or when they are told to end themselves: of those that they end none is to blame. The one that failed may have lived too
// short to be seen. Then the launcher names it, or nobody does.
func (f facts) culprit() *mpi.RankEnd {
	first := firstFailed(f.allReports())
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

// named returns the rank that the launcher names, as its node saw it end where it did. When the time of the command was up, it
// names one that it ended itself.
func (f facts) named() *mpi.RankEnd {
	named := diagnose.Reported(f.lines)
	if named == nil {
		return nil
	}
	for _, report := range f.reports {
		if named.Host != "" && firstLabel(named.Host) == firstLabel(report.Name) {
			named.Host = report.Name
		}
	}
	named = cmp.Or(rankNumbered(f.allReports(), *named.Rank), named)
	if endedByLauncher(*named) && f.status.Code() == timedOut {
		return nil
	}
	return named
}

// passedOn says whether a rank ended as the command did. Hydra makes the number of a signal its code, and 255 of all codes
// when it is disturbed.
func (f facts) passedOn(end mpi.RankEnd) bool {
	code := f.status.Code()
	return code == end.Code || end.Hydra && endedByLauncher(end) && (code == end.Code-128 || code == 255)
}
