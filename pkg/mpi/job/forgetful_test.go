package job_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// records are what users may have made of the record of a job: kept it, lost it with `kubectl replace`, or written
// their own.
var records = map[string]func(*trainer.TrainJob){
	"Kept": func(*trainer.TrainJob) {},
	"Lost": func(trainJob *trainer.TrainJob) { trainJob.Annotations = nil },
	"Forged": func(trainJob *trainer.TrainJob) {
		trainJob.Annotations = map[string]string{jobv1.Annotation: forgedRecord(t0.Add(100 * time.Hour))}
	},
	"ForgedPast": func(trainJob *trainer.TrainJob) {
		trainJob.Annotations = map[string]string{jobv1.Annotation: forgedRecord(t0.Add(-100 * time.Hour))}
	},
}

// forgedRecord has every condition that a decision might be made from.
func forgedRecord(at time.Time) string {
	text, err := json.Marshal(map[string]any{"uid": "uid-new", "conditions": []metav1.Condition{
		forged(job.Created, metav1.ConditionFalse, "Lie", "", t0.Add(-200*time.Hour)),
		forged(trainer.TrainJobSuspended, metav1.ConditionFalse, job.ReasonResumed, "", at),
		forged(job.Restarting, metav1.ConditionFalse, job.ReasonRestarted, "restart 9 of 9: lie", at),
		forged(job.PodsReady, metav1.ConditionFalse, diagnose.MachineLost, "Worker 0 lost its machine", at),
		forged(job.Running, metav1.ConditionTrue, job.ReasonGatePassed, "", at),
	}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func forged(kind string, is metav1.ConditionStatus, reason mpi.Reason, message string, at time.Time) metav1.Condition {
	since := metav1.NewTime(at)
	return metav1.Condition{Type: kind, Status: is, Reason: string(reason), Message: message, LastTransitionTime: since}
}

// forgetful makes the controller of a world start anew before each look, after this has been done to the record.
var forgetful func(*trainer.TrainJob)

// remembered returns the conditions that the controller of a world decides by.
func (w *world) remembered(trainJob *trainer.TrainJob) []metav1.Condition {
	if forgetful == nil {
		return status.AllConditions(trainJob)
	}
	forgetful(trainJob)
	return status.RestoredConditions(trainJob, w.JobSet, w.Now)
}

// A controller that starts anew before each of its passes leads every job to the same end, whatever became of the
// record.
func TestLivesUnderControllersThatForget(t *testing.T) {
	t.Cleanup(func() { forgetful = nil })
	for name, edit := range records {
		for life, live := range executors() {
			forgetful = edit
			t.Run(life+name, live)
		}
	}
}

// A job that waited for days in its queue has its whole deadline after it was resumed; one that runs too long is
// ended all the same.
func TestDeadlineWithoutARecord(t *testing.T) {
	resumedAt := t0.Add(-time.Minute)
	queued := trainJobOf(deadline(600), func(trainJob *trainer.TrainJob) {
		trainJob.CreationTimestamp = metav1.NewTime(t0.Add(-48 * time.Hour))
		trainJob.Status.JobsStatus = []trainer.JobStatus{{Name: mpi.NodeJob, Active: ptr.To[int32](1)}}
	})
	for name, edit := range records {
		trainJob := queued.DeepCopy()
		edit(trainJob)
		made := resolved(t, runtimeOf(false))
		made.Requested = resumedAt
		js := desired.JobSet(made)
		js.UID, js.CreationTimestamp = "jobset-uid", queued.CreationTimestamp
		o := observe.Observed{Now: t0, TrainJob: trainJob, JobSet: js, Runtime: runtimeOf(false)}
		o.TrainJob.Status.Conditions = status.RestoredConditions(trainJob, js, t0)
		if left := phase.DeriveFacts(o).Waits.UntilDeadline(); left != 9*time.Minute {
			t.Errorf("%s: %s of its deadline are left, want 9m", name, left)
		}
	}
}

// A job that an earlier version of the controller made goes on with the deadline that it had, whenever the controller starts.
func TestDeadlineOfAJobOfAnEarlierVersion(t *testing.T) {
	trainJob := trainJobOf(deadline(600), func(trainJob *trainer.TrainJob) {
		trainJob.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
		trainJob.Status.JobsStatus = []trainer.JobStatus{{Name: mpi.NodeJob, Active: ptr.To[int32](1)}}
	})
	js := desired.JobSet(resolved(t, runtimeOf(false)))
	delete(js.Annotations, job.RequestedAnnotation)
	js.UID, js.CreationTimestamp = "jobset-uid", metav1.NewTime(t0.Add(-4*time.Minute))
	o := observe.Observed{Now: t0, TrainJob: trainJob, JobSet: js, Runtime: runtimeOf(false)}
	o.TrainJob.Status.Conditions = status.RestoredConditions(trainJob, js, t0)
	if left := phase.DeriveFacts(o).Waits.UntilDeadline(); left != 6*time.Minute {
		t.Errorf("%s of its deadline are left, want 6m", left)
	}
}

// A user who writes that all pods were ready once does not switch the gang timeout of the platform off.
func TestGangTimeoutUnderAForgedRecord(t *testing.T) {
	for name, edit := range records {
		trainJob := trainJobOf(func(trainJob *trainer.TrainJob) {
			trainJob.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
			made := forged(job.Created, metav1.ConditionTrue, job.ReasonJobSetCreated, "", t0.Add(-time.Hour))
			trainJob.Status.Conditions = []metav1.Condition{made}
		})
		edit(trainJob)
		o := withPods(started(trainJob), podOf(mpi.LauncherJob, 0, pendingPod))
		o.Runtime.Annotations = map[string]string{mpi.GangTimeoutAnnotation: "10m"}
		o.JobSet.CreationTimestamp = trainJob.CreationTimestamp
		o.TrainJob.Status.Conditions = status.RestoredConditions(trainJob, o.JobSet, t0)
		if end := phase.DeriveFacts(o).State().End; end == nil || end.Reason != diagnose.GangTimeout {
			t.Errorf("%s: the job goes on: %v", name, inShort(o.TrainJob.Status.Conditions))
		}
	}
}

// A user who writes that a companion has made the policies of a job does not keep the companion from making them.
func TestACompanionBelievesNoRecordOfItsPolicies(t *testing.T) {
	o := companion(hasCondition(job.PodsReady, metav1.ConditionFalse, t0))
	o.JobSet, o.Beside = nil, true
	o.RememberSince(nil)
	if !phase.DeriveFacts(o).NeedsChildren() {
		t.Fatal("nobody looks for them")
	}
	if got := outlineOf(o, accompanied(o)).Create; len(got) != 1 || got[0] != "NetworkPolicy demo-mpi" {
		t.Errorf("made: %v", got)
	}
	policy := childOf("networking.k8s.io/v1", "NetworkPolicy", "demo-mpi", "n1", owned("demo", "uid-new"))
	o.Children = []metav1.PartialObjectMetadata{policy}
	o.RememberSince(nil)
	o.Children = nil
	if o.RememberSince(o.History); phase.DeriveFacts(o).NeedsChildren() {
		t.Error("it looks for them again and again")
	}
	o = companion(hasCondition(trainer.TrainJobComplete, metav1.ConditionTrue, t0.Add(-24*time.Hour)), func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions = append(trainJob.Status.Conditions, forged(job.Running, metav1.ConditionFalse, job.ReasonFinished, "", t0))
	})
	o.Beside = true
	if o.RememberSince(nil); phase.DeriveFacts(o).NeedsChildren() {
		t.Error("it looks for those of a job that ended yesterday")
	}
}
