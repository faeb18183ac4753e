package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// queuesAdmitRuntimes asks that a tenant has a share of the machines of every runtime that it can use: without one Kueue never
// admits a job. A runtime that the tenant does not name itself is a warning, because it may not want it.
func queuesAdmitRuntimes(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.Queue == nil {
			continue
		}
		for _, r := range t.Usable {
			if !slices.ContainsFunc(t.Queue.Shares, func(s plan.Share) bool { return s.Profile == r.Profile }) {
				reportShareMissing(c, t, r, list)
			}
		}
	}
}

func reportShareMissing(c *plan.Cluster, t *plan.Tenant, r *plan.Runtime, list *diag.List) {
	const message = "the tenant `%s` has no share of the machines of the runtime `%s` on `%s`: Kueue would never admit a job"
	const help = "add a share of the profile `%s` to `queue.shares`, or leave the runtime out of `runtimes`"
	i := slices.IndexFunc(t.Named, func(u plan.NamedRuntime) bool { return u.Runtime == r })
	if i >= 0 {
		list.Errorf(diag.RuntimeWithoutShare, t.Named[i].Name.At, message, t.Name.V, r.Name.V, c.Name.V).
			Also(r.ProfileName.At, "its machines").Helpf(help, r.Profile.Name)
		return
	}
	list.Warnf(diag.OfferedWithoutShare, t.Name.At, message, t.Name.V, r.Name.V, c.Name.V).
		Also(r.ProfileName.At, "its machines").Helpf("add a share of the profile `%s` to `queue.shares`, or name the tenant's `runtimes`", r.Profile.Name)
}

// queuesHaveEffect warns of what a tenant says about queueing, and no cluster does.
func queuesHaveEffect(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if at := t.Ineffective.Queue; !at.IsZero() {
			list.Warnf(diag.QueuesNowhere, at, "none of the clusters of the tenant `%s` queues", t.Name.V).
				Helpf("add `queueing` to a cluster, or remove `queue`: the quota counts everything meanwhile")
		}
		if at := t.Ineffective.Accelerators; !at.IsZero() {
			list.Warnf(diag.QuotaWithoutMeaning, at, "all clusters of the tenant `%s` queue: the shares of its queue say how many accelerators it gets, not the quota", t.Name.V).
				Helpf("remove `accelerators`")
		}
	}
}

// quotaIsOfDevices warns of a quota for devices that no machine of the tenant has, unless the whole quota of devices is in vain.
func quotaIsOfDevices(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if !t.Ineffective.Accelerators.IsZero() {
			continue
		}
		for _, device := range t.Ineffective.Devices {
			list.Warnf(diag.SettingInVain, device.At, "no machine of the clusters of the tenant `%s` has `%s`", t.Name.V, device.Name).
				Suggest(device.Name, c.Accelerators).
				Helpf("write the device as the profile of its machines does, or remove it")
		}
	}
}
