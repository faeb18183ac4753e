package check

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// limitsInOrder asks for default <= max, as the API server does of a LimitRange.
func limitsInOrder(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		defaultWithinMaximum("cpu", t.Limits.DefaultCPU, t.Limits.MaxCPU, list)
		defaultWithinMaximum("memory", t.Limits.DefaultMemory, t.Limits.MaxMemory, list)
		defaultWithinQuota("cpu", t.Limits.DefaultCPU, t.Limits.MaxCPU, t.Quota.CPU, list)
		defaultWithinQuota("memory", t.Limits.DefaultMemory, t.Limits.MaxMemory, t.Quota.Memory, list)
	}
}

func defaultWithinMaximum(what string, standard plan.Value[resource.Quantity], most plan.Value[*resource.Quantity], list *diag.List) {
	if most.V != nil && standard.V.Cmp(*most.V) > 0 {
		list.Errorf(diag.LimitsOutOfOrder, standard.At, "the default %s is %s, more than the maximum, %s", what, standard.V.String(), most.V.String()).
			Also(most.At, "maximum here").Helpf("set the default to %s or less", most.V.String())
	}
}

// defaultWithinQuota asks of a default that the quota of a namespace has room for one container that takes it. Above the maximum it is wrong already; a
// tenant that is only asked about may have no quota (package whatif).
func defaultWithinQuota(what string, standard plan.Value[resource.Quantity], most plan.Value[*resource.Quantity], quota plan.Value[resource.Quantity], list *diag.List) {
	if standard.Kind == origin.Default || quota.V.IsZero() || standard.V.Cmp(quota.V) <= 0 || most.V != nil && standard.V.Cmp(*most.V) > 0 {
		return
	}
	list.Errorf(diag.LimitsOutOfOrder, standard.At, "the default %s is %s, more than the quota of a namespace, %s: containers that say nothing never run", what, standard.V.String(), quota.V.String()).
		Also(quota.At, "the quota").Helpf("set the default to what such a container needs, far below %s", quota.V.String())
}

// limitsAdmitRuntimes asks that every container of every usable runtime is below the maximum.
func limitsAdmitRuntimes(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for r := range t.RuntimesToCheck() {
			maximumAdmitsRuntime("cpu", t.Limits.MaxCPU, r.CPU, r, list)
			maximumAdmitsRuntime("memory", t.Limits.MaxMemory, r.Memory, r, list)
			if !r.LauncherRunsRanks.V {
				maximumAdmitsRuntime("cpu", t.Limits.MaxCPU, r.LauncherCPU, r, list)
				maximumAdmitsRuntime("memory", t.Limits.MaxMemory, r.LauncherMemory, r, list)
			}
		}
	}
}

func maximumAdmitsRuntime(what string, most plan.Value[*resource.Quantity], wanted plan.Value[resource.Quantity], r *plan.Runtime, list *diag.List) {
	if most.V == nil || wanted.V.Cmp(*most.V) <= 0 {
		return
	}
	list.Errorf(diag.LimitsTooTight, most.At, "a container may take %s %s, one of the runtime `%s` takes %s", most.V.String(), what, r.Name.V, wanted.V.String()).
		Also(wanted.At, "taken here").Helpf("raise the maximum to %s or more, or leave the runtime out of `runtimes`", wanted.V.String())
}
