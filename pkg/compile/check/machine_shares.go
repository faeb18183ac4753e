package check

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// sharesHaveMachines asks that there are machines to share: on a cluster that queues, and for each share on one of the clusters of
// its tenant.
func sharesHaveMachines(c *plan.Cluster, list *diag.List) {
	if c.Queueing != nil && len(c.Capacity) == 0 && !c.Partial {
		list.Errorf(diag.QueueingWithoutCapacity, c.Queueing.APIVersion.At, "the cluster `%s` queues and does not say what machines it has", c.Name.V).
			Helpf("add `capacity` with the number of machines per profile")
		return
	}
	if c.Queueing != nil {
		for _, cohort := range c.Queueing.Cohorts {
			cohortSharesHaveMachines(c, cohort, list)
		}
	}
	for _, t := range c.Tenants {
		for _, share := range t.Ineffective.Shares {
			reportIneffectiveShare(t, share, list)
		}
	}
}

func cohortSharesHaveMachines(c *plan.Cluster, cohort *plan.Cohort, list *diag.List) {
	for _, share := range cohort.Shares {
		if c.MachinesOf(share.Profile.Name) == nil {
			list.Errorf(diag.ShareNowhere, share.ProfileName.At, "the cluster `%s` has no machines of the profile `%s`", c.Name.V, share.Profile.Name).
				Helpf("add the profile to `capacity`, or remove the share")
		}
	}
}

func reportIneffectiveShare(t *plan.Tenant, share plan.IneffectiveShare, list *diag.List) {
	if len(share.Elsewhere) == 0 {
		list.Errorf(diag.ShareNowhere, share.Profile.At, "no cluster has machines of the profile `%s`", share.Profile.V).
			Helpf("add the profile to `capacity` of a cluster, or remove the share")
		return
	}
	list.Warnf(diag.ShareElsewhere, share.Profile.At, "no cluster of the tenant `%s` has machines of the profile `%s`", t.Name.V, share.Profile.V).
		Notef("there are some on `%s`", strings.Join(share.Elsewhere, "`, `")).Helpf("add such a cluster to `clusters`, or remove the share")
}

// capacityNotTwice refuses a profile that `capacity` lists twice: the number of its machines is not known then.
func capacityNotTwice(c *plan.Cluster, list *diag.List) {
	for i := 1; i < len(c.Capacity); i++ {
		if first, second := &c.Capacity[i-1], &c.Capacity[i]; first.Profile == second.Profile {
			list.Errorf(diag.RepeatedItem, second.ProfileName.At, "`capacity` has the profile `%s` twice", second.Profile.Name).
				Also(first.ProfileName.At, "also here").
				Helpf("write it once, with `nodes: %d`", first.Nodes.V+second.Nodes.V)
		}
	}
}

// sharesInOrder asks for shares that mean something: each profile once, not empty, lending no more than there is, and limits only
// where somebody lends.
func sharesInOrder(c *plan.Cluster, list *diag.List) {
	if c.Queueing == nil {
		return
	}
	for _, t := range c.Tenants {
		if q := t.Queue; q != nil {
			sharesNotTwice(q.Shares, list)
			for i := range q.Shares {
				shareInOrder(&q.Shares[i], q.Cohort.V != "", "cohort", list)
			}
		}
	}
	for _, cohort := range c.Queueing.Cohorts {
		sharesNotTwice(cohort.Shares, list)
		for i := range cohort.Shares {
			limitsHaveCohort(&cohort.Shares[i], cohort.Parent.V != "", "parent", list)
		}
	}
}

func sharesNotTwice(shares []plan.Share, list *diag.List) {
	for i := 1; i < len(shares); i++ {
		if shares[i].Profile == shares[i-1].Profile {
			list.Errorf(diag.ShareTwice, shares[i].ProfileName.At, "there are two shares of the profile `%s`", shares[i].Profile.Name).
				Also(shares[i-1].ProfileName.At, "also here").Helpf("add their nodes up in one")
		}
	}
}

func shareInOrder(share *plan.Share, member bool, group string, list *diag.List) {
	limitsHaveCohort(share, member, group, list)
	switch nodes := share.Nodes.V; {
	case nodes == 0 && !member:
		list.Errorf(diag.EmptyShare, share.Nodes.At, "a share of 0 machines without a cohort admits no job").
			Helpf("raise `nodes`, or name a cohort to borrow from")
	case nodes == 0 && share.Borrow.V != nil && *share.Borrow.V == 0:
		list.Errorf(diag.EmptyShare, share.Nodes.At, "a share of 0 machines that may borrow 0 admits no job").
			Also(share.Borrow.At, "borrowed here").Helpf("raise `nodes` or `borrow`")
	case member && share.Lend.V != nil && *share.Lend.V > nodes:
		list.Errorf(diag.LendsTooMuch, share.Lend.At, "%d machines may be lent and the share has %d", *share.Lend.V, nodes).
			Also(share.Nodes.At, "machines of the share").Helpf("set `lend` to %d or less", nodes)
	}
}

func limitsHaveCohort(share *plan.Share, member bool, group string, list *diag.List) {
	if member {
		return
	}
	unused := func(name string, limit plan.Value[*int32]) {
		if limit.V != nil {
			list.Warnf(diag.LimitWithoutCohort, limit.At, "`%s` means nothing without a %s", name, group).
				Helpf("remove it, or name the %s", group)
		}
	}
	unused("borrow", share.Borrow)
	unused("lend", share.Lend)
}
