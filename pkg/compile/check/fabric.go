package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// supportedFabric admits Ethernet only: RDMA needs devices, capabilities and networks that are not compiled yet.
func supportedFabric(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if p := r.Profile; !p.Ethernet.V {
			list.Errorf(diag.FabricNotSupported, p.Ethernet.At, "the fabric `%s` is not supported yet", p.Fabric).
				Helpf("use `Ethernet`")
		}
	}
}
