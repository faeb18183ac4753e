package job

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Reference is something that pods name and that must exist before they can start.
type Reference struct{ Kind, Name string }

// String names it for users.
func (r Reference) String() string { return r.Kind + " `" + r.Name + "`" }

// TypeMeta returns the kind as the API knows it; all are of the core group.
func (r Reference) TypeMeta() metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: r.Kind} }

// absent says what a job waits for. The first one gives the reason, all are named.
func absent(references []Reference) *problem {
	names := make([]string, 0, len(references))
	for _, reference := range references {
		names = append(names, reference.String())
	}
	return asProblem(diagnose.Absent(references[0].Kind, names))
}

// References returns what the pods of the job need to find, sorted, without what comes with the job and what may be absent.
// The service account `default` is left out: Kubernetes makes it.
func (j Job) References() []Reference {
	found := map[Reference]bool{}
	add := func(kind, name string, optional *bool) {
		if name != "" && !ptr.Deref(optional, false) {
			found[Reference{kind, name}] = true
		}
	}
	for _, set := range podSets(j.JobSet()) {
		add("ServiceAccount", set.spec.ServiceAccountName, ptr.To(set.spec.ServiceAccountName == "default"))
		for _, volume := range set.spec.Volumes {
			ofVolume(volume, add)
		}
		for _, container := range slices.Concat(set.spec.InitContainers, set.spec.Containers) {
			ofContainer(container, add)
		}
	}
	delete(found, Reference{"Secret", mpi.SSHAuthSecretName(j.Name)})
	delete(found, Reference{"ConfigMap", mpi.HostfileConfigMapName(j.Name)})
	var list []Reference
	for reference := range found {
		list = append(list, reference)
	}
	slices.SortFunc(list, func(a, b Reference) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return list
}

func ofVolume(volume corev1.Volume, add func(kind, name string, optional *bool)) {
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

func ofContainer(container corev1.Container, add func(kind, name string, optional *bool)) {
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
