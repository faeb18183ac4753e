package kept

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Only pods of our controller have its label: a companion may explain the end of the others. Users write the labels of
// the TrainJob.
func TestTheJobSetOfAKeptJob(t *testing.T) {
	for label, want := range map[string]map[string]string{
		mpi.TrainJobLabel: {mpi.TrainJobLabel: "train"},
		"other":           nil,
	} {
		pod := corev1.Pod{}
		pod.Labels = map[string]string{label: "train", mpi.JobSetNameLabel: "train", mpi.JobSetUIDLabel: "u"}
		job := &Job{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{mpi.TrainJobLabel: "train"}},
			Objects:    &Objects{TrainJob: &trainer.TrainJob{}, Pods: []corev1.Pod{pod}},
		}
		set := job.View(time.Now()).JobSet
		if diff := cmp.Diff(want, set.Labels); diff != "" || set.Name != "train" || set.UID != "u" {
			t.Errorf("%s: %+v", label, set.ObjectMeta)
		}
		job.Objects.Pods = nil
		if set := job.View(time.Now()).JobSet; set != nil {
			t.Errorf("%s: a job without pods has %+v", label, set)
		}
	}
}
