package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var cohortRule = origin.Rule("cohort", "its members lend each other idle machines; machines of its own come on top of theirs, Kueue adds and does not cap")

func (b *builder) cohort(c *plan.Cluster, cohort *plan.Cohort) {
	member := cohort.Parent.V != ""
	entries := make([]object.Node, 0, 2)
	if member {
		entries = append(entries, planText("parentName", &cohort.Parent))
	}
	entries = append(entries, resourceGroups(c, cohort.Shares, member))
	b.add(cohortRule, kueueAPI(c), "Cohort", platformMeta(planText("", &cohort.Name)), object.Map("spec", entries...))
}
