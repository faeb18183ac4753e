package testjob

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// A name may be used again while pods of the earlier job still end; both jobs may be of the same second.
func TestPodsAreThoseOfTheJob(t *testing.T) {
	mine := &trial{
		job:     &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{UID: "new"}},
		jobSets: map[string]bool{}, pods: map[string]*corev1.Pod{}, early: map[string]*corev1.Pod{},
	}
	pod := func(name, jobSet string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{mpi.JobSetUIDLabel: jobSet}}}
	}
	set := func(uid, owner types.UID) *jobset.JobSet {
		return &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{UID: uid, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: ptr.To(true)}}}}
	}
	mine.seePod(t.Context(), pod("old-launcher", "old set"))
	mine.seePod(t.Context(), pod("seen before its JobSet", "set"))
	mine.seeJobSet(t.Context(), set("old set", "old"))
	mine.seeJobSet(t.Context(), set("set", "new"))
	mine.seePod(t.Context(), pod("seen after it", "set"))
	mine.seePod(t.Context(), pod("old-launcher", "old set"))
	want := []string{"seen after it", "seen before its JobSet"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(mine.pods))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if mine.timings.Count != 2 {
		t.Errorf("the timings count %d pods", mine.timings.Count)
	}
}
