package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// networkLeavesTenantsApart refuses traffic with another tenant: one team must not open a way to or for another's pods,
// because isolation is promised to both.
func networkLeavesTenantsApart(c *plan.Cluster, list *diag.List) {
	owners := map[string]*plan.Tenant{}
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			owners[namespace.V] = t
		}
	}
	for _, t := range c.Tenants {
		for _, named := range t.NamedNamespaces() {
			if owner := owners[named.V]; owner != nil && owner != t {
				list.Errorf(diag.ForeignTraffic, named.At, "the namespace `%s` belongs to the tenant `%s`", named.V, owner.Name.V).
					Also(owner.Name.At, "defined here").Helpf("exchange data through storage outside of both")
			}
		}
	}
}
