package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Pods that do not start.
func podFaults() []Fault {
	withImage := func(name string) func(*trainer.TrainJob) {
		return func(job *trainer.TrainJob) { job.Spec.Trainer.Image = ptr.To(name) }
	}
	return []Fault{
		{
			Name: "wrong image", How: "an image of a registry that does not exist", Waits: true,
			Want: []mpi.Reason{diagnose.ImagePull}, Says: []string{"lockstep.test/none-such:1"}, Shape: withImage("lockstep.test/none-such:1"),
		},
		{
			Name: "private image", How: "a registry that answers every request with 401", Waits: true,
			Want: []mpi.Reason{diagnose.ImagePull}, Says: []string{"authenti"}, Shape: withImage(registryAddress + "/private/mpi:1"),
			Before: privateRegistry,
		},
		{
			Name: "image without MPI", How: "an image that holds one program and no mpirun",
			Want: []mpi.Reason{diagnose.CommandNotFound}, Says: []string{"mpirun"}, Shape: withImage("lockstep.test/pause:1"),
		},
		{
			Name: "missing PVC", How: "the job mounts a PersistentVolumeClaim that does not exist", Waits: true,
			Want: []mpi.Reason{diagnose.VolumeClaimMissing}, Says: []string{"none-such"},
			Shape: withVolume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "none-such"}}),
		},
		{
			Name: "missing Secret", How: "the job mounts a Secret that does not exist", Waits: true,
			Want: []mpi.Reason{diagnose.SecretMissing}, Says: []string{"none-such"},
			Shape: withVolume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none-such"}}),
		},
		{
			Name: "missing ConfigMap", How: "the job mounts a ConfigMap that does not exist", Waits: true,
			Want: []mpi.Reason{diagnose.ConfigMapMissing}, Says: []string{"none-such"},
			Shape: withVolume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none-such"}}}),
		},
		{
			Name: "missing Secret in a variable", How: "a variable of the job comes from a Secret that does not exist", Waits: true,
			Want: []mpi.Reason{diagnose.SecretMissing}, Says: []string{"none-such"},
			Shape: func(job *trainer.TrainJob) {
				job.Spec.Trainer.Env = []corev1.EnvVar{{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{
					SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "none-such"}, Key: "token"},
				}}}
			},
		},
	}
}

// withVolume adds a volume to the nodes of a job.
func withVolume(source corev1.VolumeSource) func(*trainer.TrainJob) {
	return func(job *trainer.TrainJob) {
		patchPods(job, mpi.NodeJob, trainer.PodSpecPatch{
			Volumes:    []corev1.Volume{{Name: "extra", VolumeSource: source}},
			Containers: []trainer.ContainerPatch{{Name: mpi.Container, VolumeMounts: []corev1.VolumeMount{{Name: "extra", MountPath: "/extra"}}}},
		})
	}
}
