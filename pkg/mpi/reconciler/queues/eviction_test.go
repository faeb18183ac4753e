package queues

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// A process asks once why Kueue stopped a job, and once more after the next stop.
func TestKueueIsAskedOncePerStop(t *testing.T) {
	trainJob := waitingIn("a", 0)
	k := kueueWith(t, http.StatusOK, trainJob)
	evict(k, "Preempted to accommodate a workload")
	controller := metav1.NewControllerRef(trainJob, trainer.GroupVersion.WithKind(trainer.TrainJobKind))
	set := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{*controller}}}
	evictions := NewEvictions(k.store, k.live)
	suspended := trainJob.Status.Conditions
	suspended[0].Reason = string(diagnose.Preempted)
	for i, step := range []struct {
		shown   []metav1.Condition
		suspend bool
		want    string
		reads   int32
	}{
		{nil, true, "Preempted to accommodate a workload", 1},
		{suspended, true, "Preempted to accommodate a workload", 1},
		{suspended, false, "", 1},
		{nil, true, "Preempted again", 2},
	} {
		if step.want == "Preempted again" {
			evict(k, step.want)
		}
		trainJob.Status.Conditions, trainJob.Spec.Suspend = step.shown, &step.suspend
		got := ""
		if why := evictions.Of(t.Context(), observe.Observed{TrainJob: trainJob, JobSet: set}); why != nil {
			got = why.Message
		}
		if reads := k.live.Reads.Load(); got != step.want || reads != step.reads {
			t.Errorf("step %d: %q after %d reads, want %q after %d", i, got, reads, step.want, step.reads)
		}
	}
}

// evict lets Kueue say why it stopped the first job of a queue.
func evict(k *fakeKueue, message string) {
	k.t.Helper()
	var workload unstructured.Unstructured
	workload.SetGroupVersionKind(workloadKind.WithVersion("v1beta2"))
	if err := k.store.Get(k.t.Context(), client.ObjectKeyFromObject(workloadOf(k.job("a-000"))), &workload); err != nil {
		k.t.Fatal(err)
	}
	workload.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Evicted", "status": "True", "reason": "Preempted", "message": message,
		"lastTransitionTime": "2026-03-01T12:00:00Z",
	}}}
	if err := k.store.Update(k.t.Context(), &workload); err != nil {
		k.t.Fatal(err)
	}
}
