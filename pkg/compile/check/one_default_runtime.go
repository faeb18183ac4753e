package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// oneDefaultRuntime asks that tools can offer one runtime first to each tenant.
func oneDefaultRuntime(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		var standard *plan.Runtime
		for _, r := range t.Usable {
			if r.Default.V && standard != nil {
				list.Errorf(diag.TwoDefaults, r.Default.At, "`%s` and `%s` are both the default runtime of the tenant `%s` on the cluster `%s`", standard.Name.V, r.Name.V, t.Name.V, c.Name.V).
					Also(standard.Default.At, "also here").Helpf("keep `default` in one of them, or let them admit different tenants")
			}
			if r.Default.V {
				standard = r
			}
		}
	}
}
