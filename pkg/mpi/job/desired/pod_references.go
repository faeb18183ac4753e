package desired

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// References returns what the pods of the job need to find, sorted, without what comes with the job and what may be absent.
// The service account `default` is left out: Kubernetes makes it.
func References(j job.Job) []job.ObjectReference {
	found := map[job.ObjectReference]bool{}
	add := func(kind, name string, optional *bool) {
		if name != "" && !ptr.Deref(optional, false) {
			found[job.ObjectReference{Kind: kind, Name: name}] = true
		}
	}
	var pods []corev1.PodSpec
	for _, set := range PodSets(JobSet(j)) {
		pods = append(pods, set.Spec)
	}
	for _, fetch := range FetchJobs(j) {
		pods = append(pods, fetch.Spec.Template.Spec)
	}
	if j.Artifacts != nil && j.Artifacts.To != "" {
		pods = append(pods, ArtifactsJob(j, "").Spec.Template.Spec)
	}
	for _, pod := range pods {
		add("ServiceAccount", pod.ServiceAccountName, ptr.To(pod.ServiceAccountName == "default"))
		for _, volume := range pod.Volumes {
			addVolumeReferences(volume, add)
		}
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			addContainerReferences(container, add)
		}
	}
	delete(found, job.ObjectReference{Kind: "Secret", Name: mpi.SSHAuthSecretName(j.Name)})
	delete(found, job.ObjectReference{Kind: "ConfigMap", Name: mpi.HostfileConfigMapName(j.Name)})
	return slices.SortedFunc(maps.Keys(found), func(a, b job.ObjectReference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

func addVolumeReferences(volume corev1.Volume, add func(kind, name string, optional *bool)) {
	if s := volume.Secret; s != nil {
		add("Secret", s.SecretName, s.Optional)
	}
	if c := volume.ConfigMap; c != nil {
		add("ConfigMap", c.Name, c.Optional)
	}
	if p := volume.PersistentVolumeClaim; p != nil {
		add("PersistentVolumeClaim", p.ClaimName, nil)
	}
	if volume.Projected == nil {
		return
	}
	for _, source := range volume.Projected.Sources {
		if s := source.Secret; s != nil {
			add("Secret", s.Name, s.Optional)
		}
		if c := source.ConfigMap; c != nil {
			add("ConfigMap", c.Name, c.Optional)
		}
	}
}

func addContainerReferences(container corev1.Container, add func(kind, name string, optional *bool)) {
	for _, from := range container.EnvFrom {
		if s := from.SecretRef; s != nil {
			add("Secret", s.Name, s.Optional)
		}
		if c := from.ConfigMapRef; c != nil {
			add("ConfigMap", c.Name, c.Optional)
		}
	}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			continue
		}
		if s := variable.ValueFrom.SecretKeyRef; s != nil {
			add("Secret", s.Name, s.Optional)
		}
		if c := variable.ValueFrom.ConfigMapKeyRef; c != nil {
			add("ConfigMap", c.Name, c.Optional)
		}
	}
}
