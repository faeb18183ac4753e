package desired

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// ArtifactsJob returns the Job that copies the artifacts of a job to its destination. Run is its manifest in JSON.
func ArtifactsJob(j job.Job, run string) *batchv1.Job {
	pod := dataPod(j, mpi.ArtifactsStep, []string{mpi.DataRoot}, j.Artifacts.Claim,
		corev1.VolumeMount{MountPath: mpi.DataRoot, SubPath: mpi.ArtifactsPath(j.Artifacts.Folder), ReadOnly: true})
	container := &pod.Spec.Containers[0]
	container.Env = []corev1.EnvVar{
		{Name: mpi.StorageURI, Value: literal(j.Artifacts.Destination(j.Name, j.UID))},
		{Name: mpi.RunVariable, Value: literal(run)},
	}
	takeSecret(container, j.Artifacts.Secret)
	return dataJob(j, mpi.ArtifactsStep, pod)
}

// MountedArtifacts returns claim and folder of the artifacts of a JobSet, empty if its pods have none.
func MountedArtifacts(set *jobset.JobSet) (claim, folder string) {
	launcher := job.ReplicatedJob(set.Spec, mpi.LauncherJob)
	if launcher == nil {
		return "", ""
	}
	pod := launcher.Template.Spec.Template.Spec
	for _, mount := range job.MainContainer(&pod).VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.MountPath == mpi.ArtifactsDir && volume.Name == mount.Name && volume.PersistentVolumeClaim != nil {
				return volume.PersistentVolumeClaim.ClaimName, strings.TrimPrefix(mount.SubPath, mpi.ArtifactsPath(""))
			}
		}
	}
	return "", ""
}

// literal keeps kubelet from replacing $(NAME) in a variable: the command of a job would bring the key of the Secret
// into the manifest.
func literal(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// mountArtifacts gives ranks the folder that outlives their pods.
func mountArtifacts(j job.Job, pod *corev1.PodSpec, container *corev1.Container) {
	if j.Artifacts == nil {
		return
	}
	const volume = "lockstep-artifacts"
	setVolume(pod, claimVolume(volume, j.Artifacts.Claim))
	setMount(container, corev1.VolumeMount{
		Name: volume, MountPath: mpi.ArtifactsDir, SubPath: mpi.ArtifactsPath(j.Artifacts.Folder),
	})
	setVariable(container, corev1.EnvVar{Name: mpi.ArtifactsVariable, Value: mpi.ArtifactsDir})
}
