package job

import (
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
)

// slotsByGPU is upstream's rule: a runtime that says 1 means one rank per GPU where there are more.
func slotsByGPU(asked trainer.Trainer, template jobset.JobSetSpec) int32 {
	container := MainContainer(&ReplicatedJob(template, mpi.NodeJob).Template.Spec.Template.Spec)
	resources := container.Resources
	if asked.ResourcesPerNode != nil {
		resources = *asked.ResourcesPerNode
	}
	for _, list := range []corev1.ResourceList{resources.Requests, resources.Limits} {
		for name, quantity := range list {
			if strings.Contains(strings.ToLower(string(name)), "gpu") && quantity.Value() > 1 {
				return int32(min(quantity.Value(), mpi.MaxSlotsPerNode)) //nolint:gosec // bounded
			}
		}
	}
	return 1
}
