package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// missingOfCluster reports names in specs of tenants that are missing in a list of a cluster, which stands at a key.
type missingOfCluster struct {
	code      diag.Code
	kind, key string
	known     []string
}

func (m *missingOfCluster) report(c *plan.Cluster, name plan.Value[string], list *diag.List) {
	if slices.Contains(m.known, name.V) {
		return
	}
	report := list.Errorf(m.code, name.At, "the cluster `%s` has no %s `%s`", c.Name.V, m.kind, name.V).
		Also(c.Name.At, "the cluster").Suggest(name.V, m.known)
	if len(report.Help) == 0 {
		report.Helpf("add it to `%s` of the cluster", m.key)
	}
}
