package check

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// nodeFitsProfile asks that one node of a job, and its launcher, fit one machine.
func nodeFitsProfile(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		requestFitsMachine("one node", "cpu", r.CPU, r.Profile.CPU, r, list)
		requestFitsMachine("one node", "memory", r.Memory, r.Profile.Memory, r, list)
		if !r.LauncherRunsRanks.V {
			requestFitsMachine("the launcher", "cpu", r.LauncherCPU, r.Profile.CPU, r, list)
			requestFitsMachine("the launcher", "memory", r.LauncherMemory, r.Profile.Memory, r, list)
		}
	}
}

func requestFitsMachine(who, what string, wanted, offered plan.Value[resource.Quantity], r *plan.Runtime, list *diag.List) {
	if wanted.V.Cmp(offered.V) <= 0 {
		return
	}
	list.Errorf(diag.NodeDoesNotFit, wanted.At, "%s takes %s %s, a machine of the profile `%s` offers %s", who, wanted.V.String(), what, r.Profile.Name, offered.V.String()).
		Also(offered.At, "offered here").Helpf("set `%s` to %s or less", what, offered.V.String())
}
