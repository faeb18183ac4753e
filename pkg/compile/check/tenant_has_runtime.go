package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// tenantHasRuntime refuses a tenant that could not run anything. A tenant that names runtimes gets one message per name
// from namedRuntimesUsable and externalRuntimesRun instead.
func tenantHasRuntime(c *plan.Cluster, list *diag.List) {
	if c.Partial {
		return
	}
	for _, t := range c.Tenants {
		if len(t.Usable) == 0 && len(t.Named) == 0 && len(t.External) == 0 {
			list.Errorf(diag.NoUsableRuntime, t.Name.At, "the tenant `%s` can use no runtime on the cluster `%s`", t.Name.V, c.Name.V).
				Notef("%d runtimes are compiled for the cluster, none admits the tenant", len(c.Runtimes)).
				Helpf("add the tenant to `tenants` of a runtime, or the profile of one to `capacity` of the cluster")
		}
	}
}
