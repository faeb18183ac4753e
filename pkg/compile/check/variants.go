package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// variantBasesUsable asks that a tenant may use the runtimes that its variants change. Those of other clusters are not compiled, and fine.
func variantBasesUsable(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for _, use := range t.Bases {
			if use.Here || use.Runtime.Retired {
				checkRuntimeUse(c, t, use, list)
			}
		}
	}
}

// variantsAreNarrower asks that a tenant's own bounds lie within those of the catalog: it must not give itself more.
func variantsAreNarrower(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for _, v := range t.Variants {
			own, catalog := v.Runtime, v.Base
			tooWide := false
			for _, bound := range []plan.Value[int32]{own.MinNodes, own.MaxNodes} {
				if bound.V < catalog.MinNodes.V || bound.V > catalog.MaxNodes.V {
					tooWide = true
					list.Errorf(diag.VariantTooWide, bound.At, "%d nodes are outside of the %d to %d that the runtime `%s` allows", bound.V, catalog.MinNodes.V, catalog.MaxNodes.V, catalog.Name.V).
						Also(catalog.Name.At, "defined here").Helpf("write a number from %d to %d", catalog.MinNodes.V, catalog.MaxNodes.V)
				}
			}
			if !tooWide {
				nodeBoundsInOrder(own, list)
			}
		}
	}
}

// variantsHaveOwnNames asks for names that no catalog runtime and no other variant of the tenant has: a job that names one must mean one.
func variantsHaveOwnNames(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for i, v := range t.Variants {
			name := v.Runtime.Name
			for _, r := range c.Catalog {
				if r.Name.V == name.V {
					list.Errorf(diag.VariantName, name.At, "the catalog has a runtime `%s`", name.V).Also(r.Name.At, "defined here").
						Helpf("choose a name of the tenant's own, for example `%s-%s`", t.Name.V, name.V)
				}
			}
			if i > 0 && t.Variants[i-1].Runtime.Name.V == name.V {
				list.Errorf(diag.VariantName, name.At, "the tenant has two variants `%s`", name.V).Also(t.Variants[i-1].Runtime.Name.At, "also here").
					Helpf("rename or remove one")
			}
		}
	}
}
