package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// tenantsQueue asks that every tenant queues where others do. Kueue holds back the jobs of those who queue only: pods of a tenant
// without a queue take machines that are guaranteed to somebody else, and nobody preempts them. Without machines there is nothing to
// queue for, which is reported apart.
func tenantsQueue(c *plan.Cluster, list *diag.List) {
	if c.Queueing == nil || len(c.Capacity) == 0 {
		return
	}
	for _, t := range c.Tenants {
		if t.Queue == nil {
			list.Errorf(diag.TenantWithoutQueue, t.Name.At, "the cluster `%s` queues, and the tenant `%s` has no share of its machines: its jobs would pass those of all others", c.Name.V, t.Name.V).
				Also(c.Queueing.APIVersion.At, "queueing is on here").
				Helpf("give the tenant a `queue` with a share of one of the cluster's profiles")
		}
	}
}
