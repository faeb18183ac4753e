package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	priorityRule = origin.Rule("priority class", "which of the pods that wait goes first")
	neverRule    = origin.Rule("priority class", "taking one pod of a running MPI job kills the whole job; who must give way is decided by the queue, for whole jobs")
)

// priorityClasses adds a class for each priority of the cluster. None is the global default, which would rank pods of all others on
// the cluster too: runtimes name theirs.
func (b *builder) priorityClasses(c *plan.Cluster) {
	for i := range c.Priorities {
		p := &c.Priorities[i]
		description := object.Node{}
		if p.Description.V != "" {
			description = planText("description", &p.Description)
		}
		b.add(priorityRule, "scheduling.k8s.io/v1", "PriorityClass",
			description,
			platformMeta(planText("", &p.Name)),
			object.Text("preemptionPolicy", "Never", neverRule),
			object.Number("value", int64(p.Level.V), &p.Level.Origin))
	}
}
