package job_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

func TestReferences(t *testing.T) {
	runtime := runtimeOf(false)
	pod := &runtime.Spec.Template.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec
	pod.ServiceAccountName = "mpi"
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		corev1.Volume{Name: "maybe", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "maybe", Optional: ptr.To(true)}}},
		corev1.Volume{Name: "both", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
		}}}},
	)
	made := resolved(t, runtime, asks(trainer.Trainer{Env: []corev1.EnvVar{{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "hub"}, Key: "token"},
	}}}}))
	want := []job.ObjectReference{{Kind: "ConfigMap", Name: "settings"}, {Kind: "PersistentVolumeClaim", Name: "data"}, {Kind: "Secret", Name: "hub"}, {Kind: "ServiceAccount", Name: "mpi"}}
	if diff := cmp.Diff(want, desired.References(made)); diff != "" {
		t.Errorf("what must exist, but what comes with the job: -want, +got:\n%s", diff)
	}
}
