package check

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// quotaCoversSmallestJob asks that one smallest job of every usable runtime fits the quota, launcher included: otherwise the
// tenant could never start one.
func quotaCoversSmallestJob(c *plan.Cluster, list *diag.List) {
	smallest := map[*plan.Runtime]corev1.ResourceList{} // one runtime has many tenants
	for _, t := range c.Tenants {
		for r := range t.RuntimesToCheck() {
			wanted, known := smallest[r]
			if !known {
				wanted = r.JobResources(r.MinNodes.V)
				smallest[r] = wanted
			}
			pods := *resource.NewQuantity(t.Quota.Pods.V, resource.DecimalSI)
			quotaCovers("pods", pods, t.Quota.Pods.At, wanted[corev1.ResourcePods], r, list)
			if t.Queue != nil {
				// Kueue counts the rest: the proof of capacity asks the queue.
				continue
			}
			quotaCovers("cpu", t.Quota.CPU.V, t.Quota.CPU.At, wanted[corev1.ResourceCPU], r, list)
			quotaCovers("memory", t.Quota.Memory.V, t.Quota.Memory.At, wanted[corev1.ResourceMemory], r, list)
			// An accelerator that the quota leaves out is there with 0: the quota that is compiled says so too.
			if name := r.Profile.Accelerator.V; name != "" {
				granted := t.Quota.Accelerator(name)
				quotaCovers(name, granted.V, granted.At, wanted[corev1.ResourceName(name)], r, list)
			}
		}
	}
}

func quotaCovers(what string, granted resource.Quantity, at source.Span, wanted resource.Quantity, r *plan.Runtime, list *diag.List) {
	if wanted.Cmp(granted) <= 0 {
		return
	}
	list.Errorf(diag.QuotaTooSmall, at, "the quota is %s %s, the smallest job of the runtime `%s` takes %s", granted.String(), what, r.Name.V, wanted.String()).
		Also(r.Name.At, "nodes of the smallest job: %d", r.MinNodes.V).
		Helpf("raise `%s` to %s or more, or leave the runtime out of `runtimes`", what, wanted.String())
}
