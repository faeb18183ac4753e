package program

import (
	"slices"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// IsLaunchProcess reports whether a process starts programs elsewhere or here: a launcher, a daemon or a remote shell.
func IsLaunchProcess(p proc.Process) bool { return IsLauncher(p) || IsLaunchHelperName(p.Name) }

// IsHydraProxyName reports whether a process is one of Hydra's proxies. The kernel keeps 15 bytes of a name.
func IsHydraProxyName(name string) bool {
	return slices.Contains([]string{"hydra_pmi_proxy", "hydra_bstrap_pr", "hydra_bstrap_proxy", "pmi_proxy"}, name)
}

// IsLaunchHelperName reports whether a process belongs to the launch, although its environment may name a rank: daemons of Open MPI
// carry PMIx variables of their own.
func IsLaunchHelperName(name string) bool {
	return IsHydraProxyName(name) || slices.Contains([]string{"orted", "prted", "prterun", "prte", "mpi-agent", "rsh", "ssh"}, name)
}

// IsMPILauncherName reports whether a process is an MPI launcher that waits for its ranks. A daemon that outlives them, as prte does for
// prun, is none.
func IsMPILauncherName(name string) bool {
	return slices.Contains([]string{
		"mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "mpirun", "mpirun.mpich", "mpirun.openmpi", "orterun", "prterun", "prun",
	}, name)
}

// IsLauncher reports whether a process begins a launch on all nodes, with MPI or without. One below another is a part of it, which
// that has forked. Scripts are known by their own names.
func IsLauncher(p proc.Process) bool {
	return IsMPILauncherName(p.Name) || slices.Contains([]string{"horovodrun", "deepspeed"}, p.Name)
}

// IsShellName reports whether a process is a shell, which starts daemons for a launcher.
func IsShellName(name string) bool { return slices.Contains([]string{"sh", "bash", "dash"}, name) }
