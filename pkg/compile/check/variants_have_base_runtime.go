package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// VariantsHaveBaseRuntime warns of variants of which no cluster of their tenant has the runtime: nothing is made of them. It needs the plans of
// all clusters: where only one is compiled nobody calls it, for another cluster may well have the runtime.
func VariantsHaveBaseRuntime(clusters []*plan.Cluster, list *diag.List) {
	here := map[source.Span]bool{}
	var uses []plan.NamedRuntime
	of := map[source.Span]*plan.Tenant{}
	for _, c := range clusters {
		for _, t := range c.Tenants {
			for _, use := range t.Bases {
				at := use.Name.At
				if of[at] == nil {
					of[at] = t
					uses = append(uses, use)
				}
				here[at] = here[at] || use.Here || use.Runtime.Retired // a retired one is an error of its own
			}
		}
	}
	for _, use := range uses {
		if at := use.Name.At; !here[at] {
			list.Warnf(diag.VariantNowhere, at, "no cluster of the tenant `%s` has the runtime `%s`: nothing is made of the variant", of[at].Name.V, use.Runtime.Name.V).
				Also(use.Runtime.Name.At, "for machines of the profile `%s`", use.Runtime.Profile.Name).
				Helpf("remove the variant, or choose a runtime that a cluster of the tenant has")
		}
	}
}
