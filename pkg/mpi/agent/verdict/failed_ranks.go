package verdict

import (
	"cmp"
	"slices"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

// MaxRanks is how many failed ranks of a launch are kept: the first ones matter.
const MaxRanks = 8

// firstFailedRank returns the rank that failed first of all, nil when none is known. Launchers end the other ranks of a job
// with SIGTERM and SIGKILL when one has failed, and machines do not see that at exactly the same time: a rank that ended
// so counts only when no other failed within a moment after it.
func firstFailedRank(reports []mpi.NodeReport) *mpi.RankEnd {
	all := failedRanksInOrder(reports)
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		if all[0].Ago-all[i].Ago > simultaneous {
			break
		}
		if !endedByLauncher(all[i]) {
			return &all[i]
		}
	}
	return &all[0]
}

// failedRanksInOrder returns the ranks that failed in the order of time.
func failedRanksInOrder(reports []mpi.NodeReport) []mpi.RankEnd {
	var all []mpi.RankEnd
	for _, report := range reports {
		for _, end := range report.Ranks {
			end.Host = cmp.Or(end.Host, report.Name)
			all = append(all, end)
		}
	}
	slices.SortStableFunc(all, func(a, b mpi.RankEnd) int { return cmp.Compare(b.Ago, a.Ago) })
	return all
}

// simultaneous is how many seconds apart two machines may see what happened at one time.
const simultaneous = 0.02

func endedByLauncher(end mpi.RankEnd) bool {
	return end.Signal == process.SignalName(syscall.SIGTERM) || end.Signal == process.SignalName(syscall.SIGKILL)
}

// endOfRank returns how a rank ended, nil for one that did not fail.
func endOfRank(reports []mpi.NodeReport, number int) *mpi.RankEnd {
	for _, report := range reports {
		for _, end := range report.Ranks {
			if areEqualNumbers(end.Rank, &number) {
				end.Host = cmp.Or(end.Host, report.Name)
				return &end
			}
		}
	}
	return nil
}
