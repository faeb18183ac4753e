package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// forUrgent is Kueue's message (sigs.k8s.io/kueue pkg/scheduler/preemption).
const forUrgent = "Preempted to accommodate a workload (UID: 5c023c28-8533-4927-b266-56bca5e310c1, JobUID: 4548c8bd-c399-4027-bb02-6114f3a8cdeb) due to prioritization in the ClusterQueue; preemptor path: /team; preemptee path: /team"

func workloadWith(status, reason, message string, at time.Time) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no quota", "lastTransitionTime": at.Format(time.RFC3339)},
		map[string]any{"type": "Evicted", "status": status, "reason": reason, "message": message, "lastTransitionTime": at.Format(time.RFC3339)},
	}}}}
}

func TestEvictionIn(t *testing.T) {
	preempted := &Eviction{Reason: diagnose.Preempted, Message: forUrgent, By: "4548c8bd-c399-4027-bb02-6114f3a8cdeb"}
	cases := map[string]struct {
		reason    string
		workloads []unstructured.Unstructured
		want      *Eviction
	}{
		"Preempted":   {"another job needs the room", []unstructured.Unstructured{workloadWith("True", "Preempted", forUrgent, t0)}, preempted},
		"NotReady":    {"Kueue's waitForPodsReady", []unstructured.Unstructured{workloadWith("True", "PodsReadyTimeout", "Exceeded the PodsReady timeout", t0)}, &Eviction{Reason: diagnose.Evicted, Message: "Exceeded the PodsReady timeout"}},
		"UnknownJob":  {"Kueue says UNKNOWN where it does not know", []unstructured.Unstructured{workloadWith("True", "Preempted", "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to x", t0)}, &Eviction{Reason: diagnose.Preempted, Message: "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to x"}},
		"Last":        {"the last word counts", []unstructured.Unstructured{workloadWith("True", "Preempted", forUrgent, t0), workloadWith("True", "ClusterQueueStopped", "stopped", t0.Add(-time.Hour))}, preempted},
		"NotEvicted":  {"somebody suspended it by hand", []unstructured.Unstructured{workloadWith("False", "QuotaReserved", "", t0)}, nil},
		"NoWorkload":  {"", nil, nil},
		"OtherShapes": {"what cannot be read says nothing", []unstructured.Unstructured{{Object: map[string]any{"status": "odd"}}}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, EvictionIn(tc.workloads)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSuspensionByKueueSaysWhy(t *testing.T) {
	inQueue := func(trainJob *trainer.TrainJob) { trainJob.Labels = map[string]string{QueueLabel: "jobs"} }
	o := started(trainJobOf(suspend, inQueue))
	if !o.NeedsEviction() {
		t.Fatal("Kueue may have stopped it")
	}
	o.Eviction = &Eviction{Reason: diagnose.Preempted, Message: "Preempted to accommodate a workload", ByName: "urgent"}
	o.TrainJob.Status = statusOf(t, o, nil)
	said := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended)
	const want = "TrainJob is suspended: preempted by Kueue in favour of TrainJob `urgent`: Preempted to accommodate a workload"
	if said.Message != want || said.Reason != string(diagnose.Preempted) || said.Status != metav1.ConditionTrue {
		t.Fatalf("%+v", said)
	}
	if o.Eviction = nil; o.NeedsEviction() {
		t.Error("it is read once")
	}
	o.TrainJob.Status = statusOf(t, o, nil)
	if again := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended); again.Message != want {
		t.Errorf("the next pass forgot it: %+v", again)
	}
	o.TrainJob.Spec.Suspend = nil
	if resumed := apimeta.FindStatusCondition(statusOf(t, o, nil).Conditions, trainer.TrainJobSuspended); resumed.Message != "TrainJob is resumed" {
		t.Errorf("%+v", resumed)
	}
	for name, other := range map[string]Observed{
		"no queue": started(trainJobOf(suspend)), "not suspended": started(trainJobOf(inQueue)),
		"never started": {TrainJob: trainJobOf(suspend, inQueue)},
	} {
		if other.NeedsEviction() {
			t.Errorf("%s: there is nothing to ask", name)
		}
	}
}
