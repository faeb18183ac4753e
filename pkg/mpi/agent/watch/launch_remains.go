package watch

import (
	"path/filepath"
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
)

// launchRemains returns what is left of a launch in this pod. Below a launcher are its remote shells, and ranks where the
// launcher's pod is a host; on nodes all but launch daemons and the shells above them are programs of the launch.
func (t *ProcessTracker) launchRemains() *mpi.LaunchRemains {
	processes := proc.LiveProcesses(t.processes())
	tree, remains := proc.TreeOf(processes), &mpi.LaunchRemains{}
	for _, launcher := range waitingLaunchers(processes, tree) {
		remains.Launcher = launcher.PID
	}
	for _, p := range processes {
		switch {
		case program.IsLaunchProcess(p):
			remains.Started = remains.Started || p.Reaped && !program.IsShellName(filepath.Base(proc.ExecutablePath(t.root, p.PID)))
		case isOrphan(p, tree, t.started):
			t.addOrphan(remains, p)
		case remains.Launcher != 0 && !tree.HasAncestor(p, program.IsLauncher):
		case program.IsShellName(p.Name) && startsDaemons(processes, tree, p):
		default:
			remains.Programs++
			remains.Started = true
		}
	}
	return remains
}

// waitingLaunchers returns the launchers that wait for ranks of their own and that no launch has started.
func waitingLaunchers(processes []proc.Process, tree proc.Tree) []proc.Process {
	return slices.DeleteFunc(slices.Clone(processes), func(p proc.Process) bool {
		return !program.IsMPILauncherName(p.Name) || p.Name == "prun" || tree.HasAncestor(p, program.IsLaunchProcess)
	})
}

// isOrphan reports whether a program has lost its launch, and with it the agent's child above it.
func isOrphan(p proc.Process, tree proc.Tree, started func(pid int) bool) bool {
	return !started(tree.TopmostAncestor(p)) && !tree.HasAncestor(p, program.IsLaunchProcess)
}

func (t *ProcessTracker) addOrphan(remains *mpi.LaunchRemains, p proc.Process) {
	if len(remains.Orphans) < mpi.MaxOrphans {
		remains.Orphans = append(remains.Orphans, t.describeProcess(p))
	}
	remains.OrphanWork += uint64(p.CPU/(10*time.Millisecond)) + proc.WrittenBytes(t.root, p.PID)>>10
}

// startsDaemons reports whether a launch daemon descends from a process.
func startsDaemons(processes []proc.Process, tree proc.Tree, above proc.Process) bool {
	return slices.ContainsFunc(processes, func(p proc.Process) bool {
		return program.IsLaunchHelperName(p.Name) && tree.HasAncestor(p, func(up proc.Process) bool { return up.PID == above.PID })
	})
}
