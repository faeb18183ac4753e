package job

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Propagate returns a pod that Kubeflow Trainer's JobSet is about to make, with what Trainer gives to the launcher only:
// every pod has the image, the environment and the resources that the TrainJob asks for, and the launcher runs the user's
// command under the agent, which owns the verdict. Nil means that nothing is to be changed. The JobSet stays as Trainer wrote
// it, and runtimePatches can do none of this: upstream's webhook admits no environment there, and no field has an image.
func Propagate(pod *corev1.Pod, trainJob *trainer.TrainJob, runtime Runtime) *corev1.Pod {
	if !Active(trainJob) || !runtime.Compiled() {
		return nil
	}
	job, err := Resolve(trainJob, runtime)
	if err != nil {
		return nil
	}
	rj := replicatedJob(job.JobSet().Spec, pod.Labels[mpi.ReplicatedJobLabel])
	if rj == nil {
		return nil
	}
	wanted, changed := mainContainer(&rj.Template.Spec.Template.Spec), pod.DeepCopy()
	container := mainContainer(&changed.Spec)
	if wanted == nil || container == nil {
		return nil
	}
	container.Image = wanted.Image
	container.Command, container.Args = wanted.Command, wanted.Args
	container.Resources = wanted.Resources
	for _, variable := range job.Trainer.Env {
		container.Env = slices.Clone(container.Env)
		setVariable(container, variable)
	}
	return changed
}
