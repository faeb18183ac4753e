package check

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// farOff is how many times more than its queue a tenant's quota may be: quotas are round numbers with room to grow.
const farOff = 4

// quotaNearShares warns of a quota of CPU or memory far beyond the machines that the tenant's queue can get, if only
// the queue counts.
func quotaNearShares(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.Queue != nil && t.Ineffective.Compute {
			checkQuotaNearShares(c, t, "cpu", &t.Quota.CPU, list)
			checkQuotaNearShares(c, t, "memory", &t.Quota.Memory, list)
		}
		if c.Queueing == nil && t.OnlyHere && !c.Partial {
			quotaNearMachines(c, "cpu", &t.Quota.CPU, list)
			quotaNearMachines(c, "memory", &t.Quota.Memory, list)
		}
	}
}

// quotaNearMachines warns of a quota far beyond all machines of a cluster that does not queue.
func quotaNearMachines(c *plan.Cluster, name string, quota *plan.Value[resource.Quantity], list *diag.List) {
	var most resource.Quantity
	for i := range c.Capacity {
		for _, unit := range c.Capacity[i].Unit {
			if amount := unit.V.DeepCopy(); unit.Name == name && amount.Mul(int64(c.Capacity[i].Nodes.V)) {
				most.Add(amount)
			}
		}
	}
	if far := most.DeepCopy(); !most.IsZero() && far.Mul(farOff) && quota.V.Cmp(far) > 0 {
		list.Warnf(diag.QuotaWithoutMeaning, quota.At, "the quota is %s %s, and all machines of `%s` have %s",
			quota.V.String(), name, c.Name.V, most.String()).Helpf("write `%s: %s`, or correct `capacity`", name, most.String())
	}
}

func checkQuotaNearShares(
	c *plan.Cluster, t *plan.Tenant, name string, quota *plan.Value[resource.Quantity], list *diag.List,
) {
	var most resource.Quantity
	for i := range t.Queue.Shares {
		share := &t.Queue.Shares[i]
		machines := c.MachinesOf(share.Profile.Name)
		nodes := int64(share.Nodes.V)
		if t.Queue.Cohort.V != "" { // it may borrow
			nodes = max(nodes, int64(machines.Nodes.V))
		}
		for _, unit := range machines.Unit {
			if unit.Name == name {
				amount := unit.V.DeepCopy()
				amount.Mul(nodes)
				most.Add(amount)
			}
		}
	}
	if far := most.DeepCopy(); !most.IsZero() && far.Mul(farOff) && quota.V.Cmp(far) > 0 {
		list.Warnf(diag.QuotaWithoutMeaning, quota.At,
			"the quota is %s %s and counts nowhere: the queue of the tenant `%s` gets at most %s on `%s`",
			quota.V.String(), name, t.Name.V, most.String(), c.Name.V).
			Notef("all clusters of the tenant queue, so that only its shares bound its jobs").
			Helpf("lower `%s` to %s, or raise the shares", name, most.String())
	}
}
