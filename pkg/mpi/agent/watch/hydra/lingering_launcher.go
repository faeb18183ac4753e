package hydra

import (
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
)

// LingeringLauncher ends an mpiexec that has neither programs here nor remote shells, when it has not ended by itself after a moment.
type LingeringLauncher struct{ since time.Time }

// Observe takes in what runs in the pod.
func (e *LingeringLauncher) Observe(processes []proc.Process) {
	pid := idleLauncher(processes)
	e.since = sinceWhen(e.since, time.Now(), pid != 0)
	if pid != 0 && time.Since(e.since) > ownEnd {
		_ = EndLauncher(pid, 0, nil) // it may have ended meanwhile
	}
}

// idleLauncher returns the process of a launcher that has nothing to wait for, neither programs here nor remote shells, 0 for none: Hydra's
// may wait forever when it has lost a proxy.
func idleLauncher(processes []proc.Process) int {
	launch, tree := 0, proc.TreeOf(processes)
	for _, p := range processes {
		switch {
		case program.IsLauncher(p):
			launch = p.PID
		case program.IsHydraProxyName(p.Name):
		case tree.HasAncestor(p, program.IsLauncher):
			return 0
		}
	}
	return launch
}
