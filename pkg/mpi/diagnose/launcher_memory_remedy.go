package diagnose

import "lockstep.dev/lockstep/pkg/mpi"

// withLauncherMemoryRemedy gives a lack of memory in the launcher's pod its own remedy: spec.trainer.resourcesPerNode is for pods with ranks,
// and no field of a TrainJob, runtimePatches included, reaches the resources of a launcher without.
func (c *Cause) withLauncherMemoryRemedy(pod Pod) *Cause {
	if !pod.isLauncher() || pod.RunsRanks || c.Reason != OOMKilled && c.Reason != OutOfMemory {
		return c
	}
	limit := "memory limit"
	if pod.MemoryLimit != "" {
		limit += " of " + pod.MemoryLimit
	}
	c.Remedy = "the launcher's " + limit + " is the runtime's, and spec.trainer.resourcesPerNode does not change it: ask who maintains the runtime to raise it " +
		"(spec.launcher.memory of the MPIRuntime, or the resources of the container `" + mpi.Container + "` in the replicated job `" + mpi.LauncherJob + "`); " +
		"or use less there: run work in ranks and not beside mpirun, and print less at a time (Open MPI 5 keeps in memory what ranks print faster than it passes on)"
	return c
}

// isOnlyInLauncher reports whether a verdict knows that the kernel killed in the launcher's pod, and nowhere else. The reports of nodes do
// not show it: a verdict that is too long does without some.
func isOnlyInLauncher(verdict mpi.Verdict) bool {
	return verdict.LauncherOOMKills > 0 && verdict.LauncherOOMKills == verdict.OOMKills
}
