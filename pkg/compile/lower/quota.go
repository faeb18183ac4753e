package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	quotaRule  = origin.Rule("resource quota", "what the pods of a namespace request is bounded, so that no tenant takes the share of another")
	queuedRule = origin.Rule("resource quota", "objects and storage only: Kueue counts what pods request, and two that count the same disagree one day")
)

// trainJobCount is the name of the quota for the number of TrainJob objects
// (https://kubernetes.io/docs/concepts/policy/resource-quotas/#object-count-quota).
const trainJobCount = "count/trainjobs.trainer.kubeflow.org"

// resourceQuota bounds what a namespace holds. Where the tenant queues, Kueue counts CPU, memory and devices, and a quota for the
// same would refuse pods of a job that Kueue has admitted (https://github.com/kubernetes-sigs/kueue/issues/1403). PersistentVolumeClaims
// are bounded by their sizes; nobody says how many there may be.
func (b *builder) resourceQuota(t *plan.Tenant, namespace *plan.Value[string]) {
	q := &t.Quota
	hard := append(make([]object.Node, 0, 6+len(q.Accelerators)),
		object.Count(trainJobCount, q.Jobs.V, &q.Jobs.Origin),
		object.Count("pods", q.Pods.V, &q.Pods.Origin))
	if q.Storage.V != nil {
		hard = append(hard, object.Quantity("requests.storage", *q.Storage.V, &q.Storage.Origin))
	}
	rule := queuedRule
	if t.Queue == nil {
		rule, hard = quotaRule, append(hard, computeQuota(q)...)
	}
	b.add(rule, "v1", "ResourceQuota",
		tenantMeta(t, namespace, constantText("lockstep-quota")),
		object.Map("spec", object.Map("hard", hard...)))
}

// computeQuota bounds requests, and for memory limits too. CPU limits are not counted: those of runtimes are more than anybody uses, and a
// quota for limits.cpu would refuse every pod without one.
func computeQuota(q *plan.Quota) []object.Node {
	hard := append(make([]object.Node, 0, 3+len(q.Accelerators)),
		object.Quantity("limits.memory", q.Memory.V, &q.Memory.Origin),
		object.Quantity("requests.cpu", q.CPU.V, &q.CPU.Origin),
		object.Quantity("requests.memory", q.Memory.V, &q.Memory.Origin))
	for i := range q.Accelerators {
		// Extended resources are counted by request only.
		granted := &q.Accelerators[i]
		hard = append(hard, object.Quantity("requests."+granted.Name, granted.V, &granted.Origin))
	}
	return hard
}
