package testjob

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// Job is what a user asks for.
type Job struct {
	Name, Namespace string
	// Runtime is the name of a ClusterTrainingRuntime.
	Runtime string
	// Nodes and Slots are the world: Nodes × Slots ranks.
	Nodes, Slots int32
	Command      []string
	// Args are given to the runtime's own command when Command is empty.
	Args []string
	// Env is what every rank shall have.
	Env []corev1.EnvVar
	// Image replaces that of the runtime, and Resources what its nodes ask for; empty and nil for the runtime's own.
	Image     string
	Resources *corev1.ResourceRequirements
	// Queue is the LocalQueue of Kueue, in which the job begins suspended, as Kueue wants it; empty for none.
	Queue string
}

// TrainJob returns the job as upstream's API has it.
func (j Job) TrainJob() *trainer.TrainJob {
	object := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: j.Name, Namespace: j.Namespace},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: j.Runtime},
			Trainer: &trainer.Trainer{
				NumNodes:         ptr.To(j.Nodes),
				NumProcPerNode:   ptr.To(j.Slots),
				Command:          j.Command,
				Args:             j.Args,
				Env:              j.Env,
				ResourcesPerNode: j.Resources,
			},
		},
	}
	if j.Image != "" {
		object.Spec.Trainer.Image = &j.Image
	}
	if j.Queue != "" {
		object.Labels = map[string]string{"kueue.x-k8s.io/queue-name": j.Queue}
		object.Spec.Suspend = ptr.To(true)
	}
	return object
}

// Queued returns the job in a queue of Kueue.
func (j Job) Queued(queue string) *trainer.TrainJob {
	j.Queue = queue
	return j.TrainJob()
}
