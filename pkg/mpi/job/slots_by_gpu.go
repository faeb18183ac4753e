package job

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// slotsByGPU is upstream's rule: a runtime that says 1 means one rank per GPU where there are more.
func slotsByGPU(asked trainer.Trainer, template jobset.JobSetSpec) int32 {
	return int32(max(1, min(gpusPerNode(asked, template), mpi.MaxSlotsPerNode))) //nolint:gosec // bounded
}

// GPUs returns how many GPUs a node of the job has, 0 for none.
func (j *Job) GPUs() int64 { return gpusPerNode(j.Trainer, j.Template.Spec) }

func gpusPerNode(asked trainer.Trainer, template jobset.JobSetSpec) int64 {
	container := MainContainer(&ReplicatedJob(template, mpi.NodeJob).Template.Spec.Template.Spec)
	resources := container.Resources
	if asked.ResourcesPerNode != nil {
		resources = *asked.ResourcesPerNode
	}
	var gpus int64
	for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
		for name, quantity := range list {
			if strings.Contains(strings.ToLower(string(name)), "gpu") {
				gpus = max(gpus, quantity.Value())
			}
		}
	}
	return gpus
}
