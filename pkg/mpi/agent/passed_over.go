package agent

import (
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// howToFail says how a script fails with its launch.
const howToFail = "which the command passed over (in a shell, a pipe needs `set -o pipefail`, and a launch in the background `wait PID`)"

// passedOver says what failed in the newest launch of a command that exited 0, or nothing. The exit code is the user's word: the
// job is complete, and whoever looks at it learns what it was made of.
func (f facts) passedOver() string {
	if f.stopped != 0 {
		return ""
	}
	if rank := firstFailed(f.allReports()); rank != nil {
		return "in its last launch " + describeEndOn(*rank) + ", " + howToFail
	}
	if !f.admitted.IsZero() && f.admitted.After(f.newestLaunch()) {
		return "its last launch ended with an error, " + howToFail
	}
	return ""
}

// describeEndOn says how a rank ended and where, for example `rank 3 on worker 1 exited with code 3`.
func describeEndOn(rank mpi.RankEnd) string {
	who := diagnose.Worker(rank.Host)
	if who != firstLabel(rank.Host) {
		who = strings.ToLower(who[:1]) + who[1:]
	}
	return nameRank(rank) + " on " + who + " " + howItEnded(rank)
}
