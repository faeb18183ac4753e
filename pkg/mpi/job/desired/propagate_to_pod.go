package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// PropagateToPod returns a pod that Kubeflow Trainer's JobSet is about to make, with what Trainer gives to the launcher only:
// every pod has the image, the environment and the resources that the TrainJob asks for, and the launcher runs the user's
// command under the agent, which owns the verdict. Nil means that nothing is to be changed. The JobSet stays as Trainer wrote
// it, and runtimePatches can do none of this: upstream's webhook admits no environment there, and no field has an image.
func PropagateToPod(pod *corev1.Pod, trainJob *trainer.TrainJob, runtime job.Runtime) *corev1.Pod {
	if !job.IsManagedHere(trainJob) || !runtime.IsCompiled() {
		return nil
	}
	made, err := job.Resolve(trainJob, runtime)
	if err != nil {
		return nil
	}
	rj := job.ReplicatedJob(JobSet(made).Spec, pod.Labels[mpi.ReplicatedJobLabel])
	if rj == nil {
		return nil
	}
	wanted, changed := job.MainContainer(&rj.Template.Spec.Template.Spec), pod.DeepCopy()
	container := job.MainContainer(&changed.Spec)
	if wanted == nil || container == nil {
		return nil
	}
	container.Image = wanted.Image
	container.Command, container.Args = wanted.Command, wanted.Args
	container.Resources = wanted.Resources
	for _, variable := range slices.Concat(made.Trace, made.Trainer.Env) {
		container.Env = slices.Clone(container.Env)
		setVariable(container, variable)
	}
	return changed
}
