package agent

import (
	"math"
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// sameLaunch is how many seconds apart the daemons of one launch may start on two nodes.
const sameLaunch = 1

// ofNewestLaunch leaves out what failed in an earlier launch: a command that launched again has passed over it, also when it left out
// a node that had lost its launch daemon. When nothing failed in the newest launch of a command that failed, that one only cleaned up, and all failures stay.
func (f facts) ofNewestLaunch() facts {
	newest := f
	newest.ranks = f.recent(f.hostname, f.ranks)
	newest.reports = slices.Clone(f.reports)
	failed := len(newest.ranks)
	for i, r := range f.reports {
		newest.reports[i].Ranks = f.recent(r.Name, r.Ranks)
		if r.DaemonAgo > f.sinceLaunchOn(r.Name) {
			newest.reports[i].DaemonAgo = 0
		}
		failed += len(newest.reports[i].Ranks)
	}
	newest.losses = slices.DeleteFunc(slices.Clone(f.losses), func(l loss) bool {
		began, known := f.launches[firstLabel(l.Host)]
		again := known && l.At.Before(began) || l.ofDaemon() && f.silent(l.Host) == nil && f.now.Sub(l.At).Seconds() > f.sinceLaunch()
		return again && !l.At.IsZero()
	})
	if f.status.Code() != 0 && failed+len(newest.losses) == 0 {
		return f
	}
	return newest
}

// recent returns those ranks of a pod that ended since the newest launch began, there and anywhere. Of both the pod tells by the
// same clock.
func (f facts) recent(host string, ends []mpi.RankEnd) []mpi.RankEnd {
	limit := f.sinceLaunchOn(host)
	return slices.DeleteFunc(slices.Clone(ends), func(end mpi.RankEnd) bool { return end.Ago > limit })
}

// sinceLaunchOn is how many seconds ago a rank of the newest launch ended at most, in one pod.
func (f facts) sinceLaunchOn(host string) float64 {
	limit := f.sinceLaunch()
	if own, known := f.launches[firstLabel(host)]; known {
		limit = min(limit, f.now.Sub(own).Seconds())
	}
	return limit
}

// sinceLaunch is how many seconds ago a rank of the newest launch ended at most, on any node. The launcher knows best. Without
// one, daemons that started last tell of it, but not of a success: work that was not done must not count because another node
// was slow.
func (f facts) sinceLaunch() float64 {
	newest := f.newestLaunch()
	switch {
	case !f.launched.after.IsZero():
		return f.now.Sub(f.launched.after).Seconds() + simultaneous
	case !f.launched.seen.IsZero(), f.status.Code() == 0, newest.IsZero():
		return math.Inf(1)
	}
	return f.now.Sub(newest).Seconds() + sameLaunch
}

// newestLaunch is when the newest launch began at the latest, zero when nobody knows.
func (f facts) newestLaunch() time.Time {
	newest := f.launched.seen
	for _, began := range f.launches {
		if began.After(newest) {
			newest = began
		}
	}
	return newest
}
