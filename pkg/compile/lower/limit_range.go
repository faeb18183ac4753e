package lower

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// limitRange gives containers that say nothing what the quota makes compulsory: requests, and a memory limit. There is no
// default CPU limit, because it would also fall on containers that request more CPU than it allows, and refuse them.
func (b *builder) limitRange(t *plan.Tenant, namespace string) {
	item := corev1.LimitRangeItem{
		Type: corev1.LimitTypeContainer,
		DefaultRequest: corev1.ResourceList{
			corev1.ResourceCPU:    t.Limits.DefaultCPU.V,
			corev1.ResourceMemory: t.Limits.DefaultMemory.V,
		},
		Default: corev1.ResourceList{corev1.ResourceMemory: t.Limits.DefaultMemory.V},
		Max:     maxima(t.Limits.MaxCPU.V, t.Limits.MaxMemory.V),
	}
	b.add(corev1.LimitRange{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"},
		ObjectMeta: tenantMeta(t, namespace, "lockstep-limits"),
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}},
	})
}

func maxima(cpu, memory *resource.Quantity) corev1.ResourceList {
	list := corev1.ResourceList{}
	if cpu != nil {
		list[corev1.ResourceCPU] = *cpu
	}
	if memory != nil {
		list[corev1.ResourceMemory] = *memory
	}
	return list
}
