package job_test

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

func TestSuspendedJobSaysWhereItWaits(t *testing.T) {
	inQueue := func(trainJob *trainer.TrainJob) { trainJob.Labels = map[string]string{kueue.QueueLabel: "jobs"} }
	o := started(trainJobOf(suspend, inQueue))
	if kueue.IsQueued(o.TrainJob) {
		t.Error("it has said nothing yet")
	}
	say := func(wait kueue.QueueWait) string {
		o.Wait = wait
		var record *jobv1.Record
		o.TrainJob.Status, record = status.Compute(phase.DeriveFacts(o), decide.Decision{}, nil)
		o.TrainJob.Annotations = map[string]string{jobv1.Annotation: status.EncodeRecord(o.TrainJob, *record)}
		return job.MessageOf(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended)
	}
	second, first := kueue.QueueWait{Text: "; waits in queue `jobs` at position 2 of 2", Known: true}, kueue.QueueWait{Text: "; waits in queue `jobs` at position 1 of 1", Known: true}
	for _, step := range []struct {
		wait kueue.QueueWait
		want string
	}{
		{kueue.QueueWait{}, "TrainJob is suspended"},
		{second, "TrainJob is suspended; waits in queue `jobs` at position 2 of 2"},
		{first, "TrainJob is suspended; waits in queue `jobs` at position 1 of 1"},
		{kueue.QueueWait{}, "TrainJob is suspended; waits in queue `jobs` at position 1 of 1"},
		{kueue.NoQueueWait(), "TrainJob is suspended"},
		{first, "TrainJob is suspended; waits in queue `jobs` at position 1 of 1"},
	} {
		if got := say(step.wait); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
		if !kueue.IsQueued(o.TrainJob) || !kueue.ShowsWait(o.TrainJob, step.wait) {
			t.Errorf("%+v is said", step.wait)
		}
	}
	shorter := kueue.QueueWait{Text: "; waits in queue `jobs`", Known: true}
	if kueue.ShowsWait(o.TrainJob, shorter) || kueue.ShowsWait(o.TrainJob, kueue.NoQueueWait()) {
		t.Error("a position that nobody tells any more goes")
	}
	if kueue.HasLeftQueue(o.TrainJob) {
		t.Error("it is in a queue")
	}
	o.TrainJob.Labels = nil
	if !kueue.HasLeftQueue(o.TrainJob) {
		t.Error("it says of a queue that it does not name")
	}
	if say(kueue.NoQueueWait()); kueue.HasLeftQueue(o.TrainJob) {
		t.Error("it says so no more")
	}
	o.TrainJob.Status.Conditions = nil
	o.Eviction = &kueue.Eviction{Reason: "Preempted", Message: "Preempted to accommodate"}
	if got := say(first); got != "TrainJob is suspended: preempted by Kueue: Preempted to accommodate; waits in queue `jobs` at position 1 of 1" {
		t.Error(got)
	}
	o.Eviction, o.TrainJob.Spec.Suspend = nil, nil
	if resumed := apimeta.FindStatusCondition(statusOf(t, o, nil).Conditions, trainer.TrainJobSuspended); resumed.Message != "TrainJob is resumed" {
		t.Errorf("%+v", resumed)
	}
}

func TestSuspensionByKueueSaysWhy(t *testing.T) {
	inQueue := func(trainJob *trainer.TrainJob) { trainJob.Labels = map[string]string{kueue.QueueLabel: "jobs"} }
	o := started(trainJobOf(suspend, inQueue))
	if !o.NeedsEvictionReason() {
		t.Fatal("Kueue may have stopped it")
	}
	o.Eviction = &kueue.Eviction{Reason: diagnose.Preempted, Message: "Preempted to accommodate a workload", ByName: "urgent"}
	o.TrainJob.Status = statusOf(t, o, nil)
	said := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended)
	const want = "TrainJob is suspended: preempted by Kueue in favour of TrainJob `urgent`: Preempted to accommodate a workload"
	if said.Message != want || said.Reason != string(diagnose.Preempted) || said.Status != metav1.ConditionTrue {
		t.Fatalf("%+v", said)
	}
	for _, step := range []struct {
		why  *kueue.Eviction
		wait kueue.QueueWait
		want string
	}{
		{nil, kueue.QueueWait{}, want},
		{o.Eviction, kueue.QueueWait{Text: "; waits in queue `jobs`", Known: true}, want + "; waits in queue `jobs`"},
		{o.Eviction, kueue.QueueWait{Text: "; waits in queue `q`", Known: true}, want + "; waits in queue `q`"},
		{o.Eviction, kueue.QueueWait{}, want + "; waits in queue `q`"},
		{o.Eviction, kueue.NoQueueWait(), want},
		// Kueue has forgotten it meanwhile.
		{nil, kueue.NoQueueWait(), "TrainJob is suspended"},
	} {
		if !o.NeedsEvictionReason() {
			t.Error("a controller that starts asks again")
		}
		o.Eviction, o.Wait = step.why, step.wait
		o.TrainJob.Status = statusOf(t, o, nil)
		again := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended)
		if again.Message != step.want || again.Reason != string(diagnose.Preempted) {
			t.Errorf("want %q, got %+v", step.want, again)
		}
	}
	o.TrainJob.Spec.Suspend = nil
	if resumed := apimeta.FindStatusCondition(statusOf(t, o, nil).Conditions, trainer.TrainJobSuspended); resumed.Message != "TrainJob is resumed" {
		t.Errorf("%+v", resumed)
	}
	for name, other := range map[string]observe.Observed{
		"no queue": started(trainJobOf(suspend)), "not suspended": started(trainJobOf(inQueue)),
		"never started": {TrainJob: trainJobOf(suspend, inQueue)},
	} {
		if other.NeedsEvictionReason() {
			t.Errorf("%s: there is nothing to ask", name)
		}
	}
}
