package verdict

import (
	"slices"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// culpritRank returns the rank that the failure of the command began with, nil when none is known. Launchers end all ranks when one has
// failed, or when they are told to end themselves: of those that they end none is to blame. The one that failed may have lived too
// short to be seen. Then the launcher names it, or nobody does.
func (e Evidence) culpritRank() *mpi.RankEnd {
	first := e.firstRankEndedByItself()
	if e.Status.Code() == timedOut {
		return e.culpritBeforeTimeout(first)
	}
	if first != nil && (!endedByLauncher(*first) || e.killedByOtherThanLauncher(*first)) {
		return first
	}
	if named := e.rankNamedByLauncher(); named != nil {
		if first != nil && named.Ago == 0 {
			named.Ago = first.Ago
		}
		return named
	}
	ends := failedRanksInOrder(e.podReports())
	if i := slices.IndexFunc(ends, e.endedLikeCommand); i >= 0 {
		return &ends[i]
	}
	return nil
}

// firstRankEndedByItself returns the rank that failed first, nil when none is known, but of ranks that by their own words failed because another one did, as
// they end, the one that took them along: a program that exits shuts down its framework first, and the others may be gone before it is.
func (e Evidence) firstRankEndedByItself() *mpi.RankEnd {
	first := firstFailedRank(e.podReports())
	if first == nil || !e.saysPeerFailed(*first) {
		return first
	}
	for _, end := range failedRanksInOrder(e.podReports()) {
		if first.Ago-end.Ago <= shutdown && !endedByLauncher(end) && !e.saysPeerFailed(end) {
			return &end
		}
	}
	return first
}

// shutdown is how many seconds a program may take from where it ends its framework to its own end.
const shutdown = 10

// saysPeerFailed reports whether a rank itself says that another one had failed before. Output without tags is nobody's own.
func (e Evidence) saysPeerFailed(end mpi.RankEnd) bool {
	if end.Rank == nil {
		return false
	}
	said := diagnose.FindInOutput(diagnose.LinesTaggedWith(e.Lines, *end.Rank))
	return said != nil && said.Reason == diagnose.PeerFailed
}

// killedByOtherThanLauncher reports whether not the launcher killed the rank that failed first. Horovod, DeepSpeed and torchrun ask ranks to end by SIGTERM before
// they kill them, and only after another one has failed; at the end of the command the agent may kill what is left.
func (e Evidence) killedByOtherThanLauncher(first mpi.RankEnd) bool {
	return first.WithoutMPI && first.Signal == process.SignalName(syscall.SIGKILL) && first.Ago > e.Now.Sub(e.Ended).Seconds()+simultaneous
}

// timedOut is the code of timeout(1) for a command that it has ended.
const timedOut = 124

// termination is how many seconds a launcher that is told to end takes at most to end its ranks, each in its own way.
const termination = 10

// culpritBeforeTimeout returns a rank that failed by itself, when the time of the command was up, nil for none: long before, or else the
// launcher had ended by it. A rank that has the code itself had a timeout of its own, and the launcher passes its code on.
func (e Evidence) culpritBeforeTimeout(first *mpi.RankEnd) *mpi.RankEnd {
	switch {
	case first == nil, endedByLauncher(*first):
		return nil
	case first.Code == timedOut, first.Ago > e.Now.Sub(e.Ended).Seconds()+termination:
		return first
	}
	return nil
}

// rankNamedByLauncher returns the rank that the launcher names, as its node saw it end where it did. One that nobody saw must have ended as the
// command did: scripts print what they have passed over.
func (e Evidence) rankNamedByLauncher() *mpi.RankEnd {
	named := diagnose.ReportedRank(e.Lines)
	if named == nil {
		return nil
	}
	if seen := endOfRank(e.podReports(), *named.Rank); seen != nil {
		return seen
	}
	if !e.endedLikeCommand(*named) || !e.hasRankNumber(*named.Rank) {
		return nil
	}
	said := hosts.FirstLabel(named.Host)
	named.Host = "" // any program may print such words, with any text where a host would be
	for _, report := range e.podReports() {
		if said != "" && said == hosts.FirstLabel(report.Name) {
			named.Host = report.Name
		}
	}
	return named
}

// hasRankNumber reports whether a world can have a rank of this number, which may be that of a process in a line of a program.
func (e Evidence) hasRankNumber(number int) bool {
	largest := 0
	for _, report := range e.podReports() {
		if report.World < 0 {
			return true
		}
		largest = max(largest, report.World)
	}
	return largest == 0 || number < largest
}

// endedLikeCommand reports whether a rank ended as the command did. Hydra makes the number of a signal its code, and 255 of all codes
// when it is disturbed.
func (e Evidence) endedLikeCommand(end mpi.RankEnd) bool {
	code := e.Status.Code()
	return code == end.Code || end.Hydra && endedByLauncher(end) && (code == end.Code-128 || code == 255)
}
