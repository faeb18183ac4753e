package lower

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var limitRule = origin.Rule("limit range", "containers that say nothing get what the quota makes compulsory, and none takes more memory than the tenant allows, or more CPU than that or its runtimes' limit")

// limitRange gives containers that say nothing what the quota makes compulsory: requests, and a memory limit. There is no
// default CPU limit, because it would also fall on containers that request more CPU than it allows, and refuse them.
func (b *builder) limitRange(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	l := &t.Limits
	item := object.Map("",
		object.Map("default", object.Quantity("memory", l.DefaultMemory.V, &l.DefaultMemory.Origin)),
		object.Map("defaultRequest",
			object.Quantity("cpu", l.DefaultCPU.V, &l.DefaultCPU.Origin),
			object.Quantity("memory", l.DefaultMemory.V, &l.DefaultMemory.Origin)),
		limitMaxima(c, t),
		object.Text("type", "Container", nil))
	b.add(limitRule, "v1", "LimitRange",
		tenantMeta(t, namespace, constantText("lockstep-limits")),
		object.Map("spec", object.List("limits", item)))
}

func limitMaxima(c *plan.Cluster, t *plan.Tenant) object.Node {
	l := &t.Limits
	if l.MaxCPU.V == nil && l.MaxMemory.V == nil {
		return object.Node{}
	}
	mostCPU := t.MaxCPULimit(c)
	return object.Map("max", limitMaximum("cpu", &mostCPU), limitMaximum("memory", &l.MaxMemory))
}

func limitMaximum(name string, most *plan.Value[*resource.Quantity]) object.Node {
	if most.V == nil {
		return object.Node{}
	}
	return object.Quantity(name, *most.V, &most.Origin)
}
