package check

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// trainerReadsAlike warns of runtimes that Kubeflow Trainer reads otherwise than we do (kubeflow/trainer v2.3.0,
// pkg/runtime/framework/plugins/mpi).
func trainerReadsAlike(c *plan.Cluster, list *diag.List) {
	if c.Bundled.V {
		return
	}
	for r := range c.Compiled() {
		if name, count := trainerGPUResource(r); r.Slots.V == 1 && count > 1 {
			list.Warnf(diag.TrainerReadsOtherwise, r.Slots.At, "Kubeflow Trainer reads one slot per node as not said, and starts %d ranks per node, one for each `%s`", count, name).
				Also(r.Profile.Accelerators.At, "the number").
				Helpf("write `auto` or another number, or let every TrainJob set `numProcPerNode` to 1")
		}
		if r.LauncherRunsRanks.V && r.DefaultNodes.V == 1 {
			list.Warnf(diag.TrainerReadsOtherwise, r.LauncherRunsRanks.At, "Kubeflow Trainer makes two pods for a job of one node when the launcher runs ranks").
				Notef("https://github.com/kubeflow/trainer/issues/3954").Also(r.DefaultNodes.At, "what a TrainJob gets that asks for nothing").
				Helpf("set `nodes.default` to 2 or more, or `runsRanks` to false")
		}
	}
}

// trainerGPUResource is the resource by which Kubeflow Trainer counts ranks: any whose name has `gpu` in it.
func trainerGPUResource(r *plan.Runtime) (name string, count int64) {
	for _, offer := range r.Profile.Allocatable() {
		if strings.Contains(strings.ToLower(offer.Name), "gpu") {
			return offer.Name, offer.V.Value()
		}
	}
	return "", 0
}
