package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var workloadPriorityRule = origin.Rule("workload priority class", "which of the jobs that wait in a queue goes first; pods have their own class")

func (b *builder) workloadPriorityClass(c *plan.Cluster, p *plan.Priority) {
	description := object.Node{}
	if p.Description.V != "" {
		description = planText("description", &p.Description)
	}
	b.add(workloadPriorityRule, kueueAPI(c), "WorkloadPriorityClass",
		description,
		platformMeta(planText("", &p.Name)),
		object.Number("value", int64(p.Level.V), &p.Level.Origin))
}
