package verdict

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// howToFail says how a script fails with its launch.
const howToFail = "which the command passed over (in a shell, a pipe needs `set -o pipefail`, and a launch in the background `wait PID`)"

// ignoredFailures says what failed in the newest launch of a command that exited 0, or nothing. The exit code is the user's word: the
// job is complete, and whoever looks at it learns what it was made of. A rank that no MPI launcher started is left out: torchrun and
// Horovod may have started another in its place.
func (e Evidence) ignoredFailures() string {
	if e.Stopped != 0 {
		return ""
	}
	if rank := firstFailedRank(onlyMPIRanks(e.podReports())); rank != nil {
		return "in its last launch " + describeEndOnHost(*rank) + ", " + howToFail
	}
	if !e.Admitted.IsZero() && e.Admitted.After(e.newestLaunchTime()) {
		return "its last launch ended with an error, " + howToFail
	}
	return ""
}

// onlyMPIRanks returns the reports without the ranks that no MPI launcher started.
func onlyMPIRanks(reports []mpi.NodeReport) []mpi.NodeReport {
	for i := range reports {
		reports[i].Ranks = slices.DeleteFunc(slices.Clone(reports[i].Ranks), func(end mpi.RankEnd) bool { return end.WithoutMPI })
	}
	return reports
}

// describeEndOnHost says how a rank ended and where, for example `rank 3 on worker 1 exited with code 3`.
func describeEndOnHost(rank mpi.RankEnd) string {
	who := diagnose.WorkerName(rank.Host)
	if who != hosts.FirstLabel(rank.Host) {
		who = strings.ToLower(who[:1]) + who[1:]
	}
	return rankName(rank) + " on " + who + " " + describeRankEnd(rank)
}
