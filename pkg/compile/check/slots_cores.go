package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// slotsHaveCores warns of more ranks on a node than its machine has cores.
func slotsHaveCores(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		// One rank for each accelerator is as many as there are.
		if cores := r.Profile.CPU.V.Value(); int64(r.Slots.V) > cores && r.Slots.V != r.Profile.Accelerators.V {
			list.Warnf(diag.SlotsAboveCores, r.Slots.At, "a node runs %d ranks, and a machine of `%s` has %d cores", r.Slots.V, r.Profile.Name, cores).
				Also(r.Profile.CPU.At, "the cores").Helpf("set `slotsPerNode` to %d or less", cores)
		}
	}
}
