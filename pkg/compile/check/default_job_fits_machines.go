package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// defaultJobFitsMachines asks that a job which asks for nothing fits the machines that the cluster says it has. Where Kueue queues, the share
// of a tenant says more, and the proof of capacity asks it.
func defaultJobFitsMachines(c *plan.Cluster, list *diag.List) {
	if c.Queueing != nil {
		return
	}
	for r := range c.Compiled() {
		machines := c.MachinesOf(r.Profile.Name)
		if machines == nil || int64(r.DefaultNodes.V) <= int64(machines.Nodes.V) {
			continue
		}
		list.Errorf(diag.MoreNodesThanMachines, r.DefaultNodes.At, "a job has %d nodes unless it says otherwise, the cluster `%s` has %d machines of `%s`", r.DefaultNodes.V, c.Name.V, machines.Nodes.V, r.Profile.Name).
			Also(machines.Nodes.At, "machines").Helpf("set `default` to at most %d, or correct `capacity` of the cluster", machines.Nodes.V)
	}
}
