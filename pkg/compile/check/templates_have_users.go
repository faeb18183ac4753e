package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jobtemplate"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// TemplatesHaveUsers reports templates of runtimes that do not exist, and warns of templates without users. It
// needs the plans of all clusters: a tenant may have the runtime on another one.
func TemplatesHaveUsers(clusters []*plan.Cluster, list *diag.List) {
	if len(clusters) == 0 || slices.ContainsFunc(clusters, func(c *plan.Cluster) bool { return c.Partial }) {
		return
	}
	for _, t := range clusters[0].Templates {
		names := runtimesFor(t, clusters)
		switch known := slices.Contains(names, t.Runtime()); {
		case slices.ContainsFunc(clusters, func(c *plan.Cluster) bool { return hasUser(c, t) }):
		case known:
			list.Warnf(diag.TemplateUnused, t.RuntimeSpan(), "no tenant of any cluster can use the runtime `%s`", t.Runtime()).
				Helpf("name another runtime, or remove the template")
		default:
			list.Errorf(diag.BadTemplate, t.RuntimeSpan(), "there is no runtime `%s` for the template", t.Runtime()).
				Suggest(t.Runtime(), names)
		}
	}
}

func hasUser(c *plan.Cluster, template *jobtemplate.Template) bool {
	return slices.ContainsFunc(c.Tenants, func(t *plan.Tenant) bool { return slices.Contains(t.Templates, template) })
}

// runtimesFor returns the runtimes of the kind that a template names.
func runtimesFor(template *jobtemplate.Template, clusters []*plan.Cluster) []string {
	var names []string
	for _, c := range clusters {
		for _, t := range c.Tenants {
			for _, v := range t.Variants {
				if template.OfTenant() {
					names = append(names, v.Runtime.Name.V)
				}
			}
		}
		for _, r := range c.Catalog {
			if !template.OfTenant() {
				names = append(names, r.Name.V)
			}
		}
	}
	return names
}
