package watch

import (
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

const (
	// startsWithin is how long launch daemons may run alone before somebody is told; one is not looked at as long as
	// it is younger than the time between two looks.
	startsWithin = time.Minute
	youngLaunch  = 2 * launchPoll
)

// daemonsWithoutRanks is a launch in which all nodes run nothing but launch daemons.
type daemonsWithoutRanks struct {
	// since is when it was seen first, of all looks without a break.
	since time.Time
}

// observePods takes in what the pods do, and reports whether they have done so for too long. Launching reports whether an MPI launcher
// waits: without one the daemons may wait for it, as those of `prte` do for `prun`. A launcher that is not one of MPI runs something
// else on the nodes.
func (a *daemonsWithoutRanks) observePods(now time.Time, launching bool, nodes []mpi.Host, pods map[string]mpi.Progress) bool {
	switch {
	case !launching || len(nodes) == 0 || !runOnlyDaemons(nodes, pods):
		a.since = time.Time{}
	case a.since.IsZero():
		a.since = now
	case now.Sub(a.since) >= startsWithin:
		return true
	}
	return false
}

// runOnlyDaemons reports whether all nodes run launch daemons of a launch that is old enough, and nothing else. Several launches one
// after the other are each young.
func runOnlyDaemons(nodes []mpi.Host, pods map[string]mpi.Progress) bool {
	for _, node := range nodes {
		p := pods[hosts.FirstLabel(node.Name)]
		if p.LaunchAge == nil || *p.LaunchAge < youngLaunch.Seconds() || p.Daemons == 0 || p.Daemons != p.Processes {
			return false
		}
	}
	return true
}
