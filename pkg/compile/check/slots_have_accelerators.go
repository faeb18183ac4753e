package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// slotsHaveAccelerators refuses `auto`, one rank per accelerator, where there are none.
func slotsHaveAccelerators(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if r.Slots.V == 0 {
			list.Errorf(diag.SlotsWithoutAccelerator, r.Slots.At, "slotsPerNode `auto` needs accelerators, and the profile `%s` has none", r.Profile.Name).
				Helpf("write the number of ranks that one node may run")
		}
	}
}
