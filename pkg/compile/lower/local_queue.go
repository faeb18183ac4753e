package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var localQueueRule = origin.Rule("local queue", "one name in all namespaces, so that a TrainJob can name its queue without knowing its tenant; not `default`, which OpenShift AI makes itself")

func (b *builder) localQueue(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	if t.Queue == nil {
		return
	}
	b.add(localQueueRule, kueueAPI(c), "LocalQueue",
		tenantMeta(t, namespace, constantText(plan.LocalQueue)),
		object.Map("spec", planText("clusterQueue", &t.Name)))
}
