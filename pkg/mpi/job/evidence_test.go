package job_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

func TestSeenOfLaunchers(t *testing.T) {
	pods := []corev1.Pod{podOf(mpi.LauncherJob, 0), podOf(mpi.NodeJob, 0)}
	apart := withPods(started(trainJobOf()), pods...)
	job.MainContainer(&job.ReplicatedJob(apart.JobSet.Spec, mpi.LauncherJob).Template.Spec.Template.Spec).Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}
	oneOfThem := withPods(started(trainJobOf()), pods...)
	oneOfThem.Runtime = runtimeOf(true)
	gone := withPods(started(trainJobOf()), pods...)
	gone.Runtime = nil
	type facts struct {
		RunsRanks bool
		Limit     string
	}
	for name, tc := range map[string]struct {
		observed observe.Observed
		want     facts
	}{
		"Apart":     {apart, facts{false, "128Mi"}},
		"Gone":      {gone, facts{}},
		"OneOfThem": {oneOfThem, facts{true, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := phase.DeriveFacts(tc.observed).Evidence()
			if diff := cmp.Diff(tc.want, facts{seen[0].RunsRanks, seen[0].MemoryLimit}); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if seen[1].MemoryLimit != "" {
				t.Error("the limit of nodes is their users' own")
			}
		})
	}
}

// The scheduler says nothing of pods with gates that names one. A wide job that is made with gates is looked at once for all of them.
func TestGatesAreSeenAndNoNewsByThemselves(t *testing.T) {
	pod := podOf(mpi.NodeJob, 0, func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates"}}
	})
	if diff := cmp.Diff([]string{"example.com/wait"}, observe.EvidenceOf(&pod).Gates); diff != "" {
		t.Error(diff)
	}
	free := podOf(mpi.NodeJob, 0)
	for reason, before := range map[string]*corev1.Pod{"made": nil, "free": &free} {
		if got := observe.ImpactOfPod(before, &pod); got != observe.ImpactStep {
			t.Errorf("%s: want a step, got %v", reason, got)
		}
	}
	if got := observe.ImpactOfPod(&pod, &free); got != observe.ImpactStep {
		t.Errorf("freed: want a step, got %v", got)
	}
}
