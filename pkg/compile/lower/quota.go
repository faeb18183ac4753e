package lower

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// trainJobCount is the name of the quota for the number of TrainJob objects
// (https://kubernetes.io/docs/concepts/policy/resource-quotas/#object-count-quota).
const trainJobCount corev1.ResourceName = "count/trainjobs.trainer.kubeflow.org"

// resourceQuota bounds requests, and for memory limits too. CPU limits are not counted: runtimes set none, because a CPU
// limit throttles ranks, and a quota for limits.cpu would refuse every pod without one.
func (b *builder) resourceQuota(t *plan.Tenant, namespace string) {
	hard := corev1.ResourceList{
		corev1.ResourceRequestsCPU:    t.Quota.CPU.V,
		corev1.ResourceRequestsMemory: t.Quota.Memory.V,
		corev1.ResourceLimitsMemory:   t.Quota.Memory.V,
		corev1.ResourcePods:           *resource.NewQuantity(t.Quota.Pods.V, resource.DecimalSI),
		trainJobCount:                 *resource.NewQuantity(t.Quota.Jobs.V, resource.DecimalSI),
	}
	for name, amount := range t.Quota.Accelerators {
		// Extended resources are counted by request only.
		hard[corev1.ResourceName("requests."+name)] = amount.V
	}
	b.add(corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: tenantMeta(t, namespace, "lockstep-quota"),
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	})
}
