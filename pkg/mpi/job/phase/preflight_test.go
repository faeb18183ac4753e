package phase

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

func TestForesee(t *testing.T) {
	r := template.Runtime{Name: "r", Implementation: "MPICH", Version: "4.2"}
	r.World.Nodes, r.World.SlotsPerNode = 2, 1
	built, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	runtime := job.Runtime{Labels: built.Labels, Spec: built.Spec}
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "team"}, Spec: trainer.TrainJobSpec{Suspend: ptr.To(true)}}
	pods := func(hard, used string) observe.NamespaceBounds {
		return observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{{Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{"pods": resource.MustParse(hard)}, Used: corev1.ResourceList{"pods": resource.MustParse(used)},
		}}}}
	}
	for name, tc := range map[string]struct {
		bounds       observe.NamespaceBounds
		never, waits bool
	}{"Room": {pods("3", "0"), false, false}, "Waits": {pods("3", "1"), false, true}, "Never": {pods("2", "0"), true, false}} {
		never, waits, err := Preflight(trainJob, runtime, tc.bounds)
		if (never != nil) != tc.never || (waits != nil) != tc.waits || err != nil {
			t.Errorf("%s: never %v, waits %v, %v", name, never, waits, err)
		}
		for _, cause := range []*diagnose.Cause{never, waits} {
			if cause != nil && cause.Reason != diagnose.QuotaExceeded {
				t.Errorf("%s: %s", name, cause.Reason)
			}
		}
	}
	if !*trainJob.Spec.Suspend {
		t.Error("the job was changed")
	}
	trainJob.Spec.Initializer = &trainer.Initializer{Model: &trainer.ModelInitializer{StorageUri: new("gs://models/a")}}
	if _, _, err := Preflight(trainJob, runtime, observe.NamespaceBounds{}); err == nil {
		t.Error("an initializer was taken that nobody can run")
	}
}
