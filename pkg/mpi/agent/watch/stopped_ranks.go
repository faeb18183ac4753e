package watch

import (
	"fmt"
	"maps"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// stoppedAfter is how long a rank must have been stopped at each look before it is worth a warning: a debugger or a
// checkpoint may stop it for a moment.
const stoppedAfter = 5 * time.Second

// stoppedRanks remembers since when processes of ranks are stopped.
type stoppedRanks map[rankProcess]time.Time

// observePods takes in what the ranks of all pods do, and returns the warning about the lowest stopped rank,
// or nil. A pod that does not answer leaves its ranks as they were.
func (s stoppedRanks) observePods(now time.Time, pods map[string]mpi.Progress) *mpi.JobWarning {
	still := map[rankProcess]bool{}
	lowest, where := -1, ""
	for host, pod := range pods {
		for _, r := range pod.Ranks {
			this := rankProcess{host, r.PID}
			if !r.Stopped {
				continue
			}
			still[this] = true
			if _, known := s[this]; !known {
				s[this] = now
			}
			if now.Sub(s[this]) >= stoppedAfter && (lowest < 0 || r.Rank < lowest) {
				lowest, where = r.Rank, host
			}
		}
	}
	maps.DeleteFunc(s, func(p rankProcess, _ time.Time) bool {
		_, answered := pods[p.host]
		return answered && !still[p]
	})
	if lowest < 0 {
		return nil
	}
	return &mpi.JobWarning{Reason: mpi.ReasonRankStopped, Message: fmt.Sprintf(
		"rank %d on %s is stopped, as by SIGSTOP: the ranks that wait for it continue once it gets SIGCONT",
		lowest, where)}
}

// areNew reports whether a rank has been stopped for so short that the next look may name it.
func (s stoppedRanks) areNew(now time.Time) bool {
	for _, since := range s {
		if now.Sub(since) < stoppedAfter {
			return true
		}
	}
	return false
}
