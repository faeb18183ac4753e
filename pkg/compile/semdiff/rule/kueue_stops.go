package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// noteStoppedByKueue adds to an effect on a runtime that Kueue stops jobs for it. Kueue compares the containers of an
// admitted job with the containers that Kubeflow Trainer would make of the runtime of today (sigs.k8s.io/kueue
// pkg/controller/jobframework, EquivalentToWorkload). If they differ it deletes the Workload, which stops the job, and
// makes another one. The job begins again, from its own snapshot of the runtime.
func (c *Cluster) noteStoppedByKueue(e *Effect) {
	if !slices.ContainsFunc(e.Changes, isOfAdmittedPods) || !c.hasQueues() {
		return
	}
	e.Jobs = max(e.Jobs, JobsPreemptible)
	if e.Help == "" {
		e.Help = "Kueue stops running jobs of this runtime, and they begin again as they were: apply it while none runs, " +
			"or give the runtime another name"
	}
}

// hasQueues reports whether Kueue admitted jobs in the state before.
func (c *Cluster) hasQueues() bool {
	for id := range c.was.queues {
		if id.Kind == "ClusterQueue" {
			return true
		}
	}
	return false
}

// isOfAdmittedPods reports whether Kueue compares what a change of a runtime is about.
func isOfAdmittedPods(c *match.Change) bool {
	return isRuntime(c) && !c.Whole() && (c.Path.Has("containers") || c.Path.Has("initContainers"))
}
