package verdict

import (
	"math"
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// sameLaunch is how many seconds apart the daemons of one launch may start on two nodes.
const sameLaunch = 1

// withNewestLaunchOnly leaves out what failed in an earlier launch: a command that launched again has passed over it, also when it left out
// a node that had lost its launch daemon. When nothing failed in the newest launch of a command that failed, that one only cleaned up, and all failures stay.
func (e Evidence) withNewestLaunchOnly() Evidence {
	pods, failed := e.podReports(), 0
	for i, r := range pods {
		pods[i].Ranks = e.endsSinceLaunch(r.Name, r.Ranks)
		if r.DaemonAgo > e.secondsSinceLaunchOn(r.Name) {
			pods[i].DaemonAgo = 0
		}
		failed += len(pods[i].Ranks)
	}
	newest := e.withPods(pods)
	newest.Losses = slices.DeleteFunc(slices.Clone(e.Losses), func(l Loss) bool {
		began, known := e.Launches[hosts.FirstLabel(l.Host)]
		return known && l.At.Before(began) || l.IsDaemonOnly() && !e.isSilent(l.Host) && e.Now.Sub(l.At).Seconds() > e.secondsSinceLaunch()
	})
	if e.Status.Code() != 0 && failed+len(newest.Losses) == 0 {
		return e
	}
	return newest
}

// endsSinceLaunch returns those ranks of a pod that ended since the newest launch began, there and anywhere. Of both the pod tells by the
// same clock.
func (e Evidence) endsSinceLaunch(host string, ends []mpi.RankEnd) []mpi.RankEnd {
	limit := e.secondsSinceLaunchOn(host)
	return slices.DeleteFunc(slices.Clone(ends), func(end mpi.RankEnd) bool { return end.Ago > limit })
}

// secondsSinceLaunchOn is how many seconds ago a rank of the newest launch ended at most, in one pod.
func (e Evidence) secondsSinceLaunchOn(host string) float64 {
	limit := e.secondsSinceLaunch()
	if own, known := e.Launches[hosts.FirstLabel(host)]; known {
		limit = min(limit, e.Now.Sub(own).Seconds())
	}
	return limit
}

// secondsSinceLaunch is how many seconds ago a rank of the newest launch ended at most, on any node. The launcher knows best. Without
// one, daemons that started last tell of it, but not of a success: work that was not done must not count because another node
// was slow.
func (e Evidence) secondsSinceLaunch() float64 {
	newest := e.newestLaunchTime()
	switch {
	case !e.Launched.After.IsZero():
		return e.Now.Sub(e.Launched.After).Seconds() + simultaneous
	case !e.Launched.Seen.IsZero(), e.Status.Code() == 0, newest.IsZero():
		return math.Inf(1)
	}
	return e.Now.Sub(newest).Seconds() + sameLaunch
}

// newestLaunchTime is when the newest launch began at the latest, zero when nobody knows.
func (e Evidence) newestLaunchTime() time.Time {
	newest := e.Launched.Seen
	for _, began := range e.Launches {
		if began.After(newest) {
			newest = began
		}
	}
	return newest
}
