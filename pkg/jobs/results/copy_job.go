// Package results gets files out of the volumes of jobs with the rights of an editor.
//
// Editors may neither open a shell nor copy files, but they may run a job and read its log. So the agent in a job that
// mounts the same volume prints the files as text, and its log is unpacked here. gzip notices if a line is lost.
//
// Flow: Claims finds the volumes → CopyJob prints it → Archive collects the lines → Extract writes the files.
package results

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// Claims returns the folders of the first pod of a job that are on PersistentVolumeClaims, with the claim of each.
func Claims(set *jobset.JobSet) map[string]string {
	folders := map[string]string{}
	if len(set.Spec.ReplicatedJobs) == 0 {
		return folders
	}
	pod := &set.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	main := mpijob.MainContainer(pod)
	if main == nil {
		return folders
	}
	for _, volume := range pod.Volumes {
		for _, mount := range main.VolumeMounts {
			if volume.PersistentVolumeClaim != nil && mount.Name == volume.Name {
				folders[mount.MountPath] = volume.PersistentVolumeClaim.ClaimName
			}
		}
	}
	return folders
}

// CheckPath returns an error for a path that is in none of the folders.
func CheckPath(job, file string, claims map[string]string) error {
	var known []string
	for folder, claim := range claims {
		if file == folder || strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/") {
			return nil
		}
		known = append(known, fmt.Sprintf("%s (claim `%s`)", folder, claim))
	}
	if len(known) == 0 {
		return fmt.Errorf("`%s` mounts no claim, so its files went with its pods: mount one with `--pvc CLAIM:/FOLDER` "+
			"when you submit, and write results there", job)
	}
	return fmt.Errorf("`%s` is on no claim of `%s`, and went with its pods: its claims are at %s",
		file, job, strings.Join(known, ", "))
}

// CopyJob returns a job like another one, with its user and its volumes, that prints a file or a folder of a volume. It
// asks for little, and for no devices.
func CopyJob(old view.JobObjects, name, file string) (*trainer.TrainJob, error) {
	job, err := submit.CloneJob(old.TrainJob, name)
	if err != nil {
		return nil, err
	}
	delete(job.Annotations, mpi.TraceAnnotation)
	if kept, err := mpijob.ArtifactsOf(old.TrainJob); err == nil && kept != nil {
		same := fmt.Sprintf("artifacts=folder=%s,claim=%s", kept.Folder, kept.Claim)
		if err := submit.SetField(job, same); err != nil {
			return nil, err
		}
	}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
	}
	for _, part := range old.JobSet.Spec.ReplicatedJobs {
		if main := mpijob.MainContainer(&part.Template.Spec.Template.Spec); main != nil {
			for device := range main.Resources.Limits {
				if strings.Contains(string(device), "/") {
					amounts[device] = resource.Quantity{}
				}
			}
		}
	}
	t := ptr.Deref(job.Spec.Trainer, trainer.Trainer{})
	t.Command, t.Args = []string{mpi.AgentBin, "archive", file}, nil
	t.NumNodes, t.NumProcPerNode = ptr.To(old.Runtime.LeastNodes()), ptr.To[int32](1)
	t.ResourcesPerNode = &corev1.ResourceRequirements{Requests: amounts, Limits: submit.LimitsWithoutCPU(amounts)}
	job.Spec.Trainer = &t
	return job, submit.SetField(job, "env.LOCKSTEP_ALLOW_IDLE_NODES=true") // a copy launches no ranks
}
