package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// namedRuntimesUsable asks that a tenant can use every runtime that it names, and warns of deprecated ones.
func namedRuntimesUsable(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for _, use := range t.Named {
			checkRuntimeUse(c, t, use, list)
		}
	}
}

func checkRuntimeUse(c *plan.Cluster, t *plan.Tenant, use plan.NamedRuntime, list *diag.List) {
	switch r := use.Runtime; {
	case r.Retired:
		list.Errorf(diag.RuntimeNotUsable, use.Name.At, "the runtime `%s` is retired", r.Name.V).
			Also(r.Name.At, "defined here").Helpf("name another runtime")
	case !use.Here:
		list.Errorf(diag.RuntimeNotUsable, use.Name.At, "the runtime `%s` is not on the cluster `%s`, which has no machines of the profile `%s`", r.Name.V, c.Name.V, r.Profile.Name).
			Helpf("add the profile to `capacity` of the cluster, or remove the runtime")
	case !r.Admits(t.Name.V):
		list.Errorf(diag.RuntimeNotUsable, use.Name.At, "the runtime `%s` does not admit the tenant `%s`", r.Name.V, t.Name.V).
			Also(r.Name.At, "defined here").Helpf("add the tenant to `tenants` of the runtime")
	case r.Deprecated.V:
		list.Warnf(diag.DeprecatedRuntime, use.Name.At, "the runtime `%s` is deprecated", r.Name.V).
			Also(r.Name.At, "defined here").Helpf("move to another runtime before this one is retired")
	}
}
