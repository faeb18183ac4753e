package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// ingressFromOwnPlatform refuses ingress from another tenant: one team must not open a way into itself for another's
// pods, because isolation is promised to both.
func ingressFromOwnPlatform(c *plan.Cluster, list *diag.List) {
	owners := map[string]*plan.Tenant{}
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			owners[namespace.V] = t
		}
	}
	for _, t := range c.Tenants {
		for _, source := range t.IngressFrom {
			if owner := owners[source.V]; owner != nil && owner != t {
				list.Errorf(diag.ForeignIngress, source.At, "the namespace `%s` belongs to the tenant `%s`", source.V, owner.Name.V).
					Also(owner.Name.At, "defined here").Helpf("exchange data through storage outside the cluster")
			}
		}
	}
}
