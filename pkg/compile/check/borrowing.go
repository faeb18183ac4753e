package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// borrowedMachinesExist warns of a tenant that may borrow machines that there can never be: more than the whole cluster has, or any where nobody in
// its tree of cohorts lends. A bound between that and what the others lend today is left alone: it would be wrong, and right again, whenever
// neighbours and machines come or go.
func borrowedMachinesExist(c *plan.Cluster, list *diag.List) {
	if c.Queueing == nil || c.Partial {
		return
	}
	roots := rootsOfCohorts(c.Queueing)
	lent := lentMachines(c, roots)
	for _, t := range c.Tenants {
		if t.Queue == nil || roots[t.Queue.Cohort.V] == "" {
			continue
		}
		for i := range t.Queue.Shares {
			share := &t.Queue.Shares[i]
			checkShareBorrows(c, t, share, lent[machinePool{roots[t.Queue.Cohort.V], share.Profile}]-machinesLent(share), list)
		}
	}
}

// checkShareBorrows judges one share, given how many machines others lend.
func checkShareBorrows(c *plan.Cluster, t *plan.Tenant, share *plan.Share, others int64, list *diag.List) {
	machines := c.MachinesOf(share.Profile.Name)
	if share.Borrow.V == nil || *share.Borrow.V == 0 || machines == nil {
		return
	}
	const leaveOut = "leave `borrow` out, which means as many as there are"
	switch {
	case others == 0:
		list.Warnf(diag.SettingInVain, share.Borrow.At, "`borrow: %d` borrows nothing: nobody else in the cohort `%s` lends machines of `%s`", *share.Borrow.V, t.Queue.Cohort.V, share.Profile.Name).
			Also(t.Queue.Cohort.At, "the cohort").Helpf("name the cohort of those who lend, or " + leaveOut)
	case *share.Borrow.V > machines.Nodes.V:
		list.Warnf(diag.SettingInVain, share.Borrow.At, "`borrow: %d` is not a bound: the cluster `%s` has %d machines of `%s`", *share.Borrow.V, c.Name.V, machines.Nodes.V, share.Profile.Name).
			Also(machines.Nodes.At, "the machines").Helpf("set it to %d or less, or "+leaveOut, max(machines.Nodes.V-share.Nodes.V, 0))
	}
}

// machinePool is the machines of a profile that flow within a tree of cohorts.
type machinePool struct {
	root    string
	profile *plan.Profile
}

// lentMachines is how many machines the tenants and cohorts of each tree lend at most. What cohorts between them hold back makes it less.
func lentMachines(c *plan.Cluster, roots map[string]string) map[machinePool]int64 {
	lent := map[machinePool]int64{}
	add := func(cohort string, shares []plan.Share) {
		for i := range shares {
			lent[machinePool{roots[cohort], shares[i].Profile}] += machinesLent(&shares[i])
		}
	}
	for _, t := range c.Tenants {
		if t.Queue != nil {
			add(t.Queue.Cohort.V, t.Queue.Shares)
		}
	}
	for _, cohort := range c.Queueing.Cohorts {
		add(cohort.Name.V, cohort.Shares)
	}
	return lent
}

// machinesLent is how many machines of a share others may take.
func machinesLent(share *plan.Share) int64 {
	if share.Lend.V != nil {
		return int64(min(*share.Lend.V, share.Nodes.V))
	}
	return int64(share.Nodes.V)
}

// rootsOfCohorts is the cohort at the top of each one. Those in a circle, or below a cohort that is not there, have none.
func rootsOfCohorts(q *plan.Queueing) map[string]string {
	parents := map[string]string{}
	for _, cohort := range q.Cohorts {
		parents[cohort.Name.V] = cohort.Parent.V
	}
	roots := map[string]string{}
	for name := range parents {
		root := name
		for range parents {
			if parents[root] == "" {
				break
			}
			root = parents[root]
		}
		if parent, known := parents[root]; known && parent == "" {
			roots[name] = root
		}
	}
	return roots
}
