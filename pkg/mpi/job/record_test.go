package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

func is(kind string, status metav1.ConditionStatus, reason mpi.Reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: string(reason), Message: message, LastTransitionTime: metav1.NewTime(t0)}
}

// lives are the conditions of jobs in every state, and what their status shows of them.
func lives() map[string]struct{ all, shown []metav1.Condition } {
	created := is(job.Created, metav1.ConditionTrue, job.ReasonJobSetCreated, "all objects of the job exist")
	pods, noPods := is(job.PodsReady, metav1.ConditionTrue, job.ReasonPodsReady, "all 3 pods are ready"), is(job.PodsReady, metav1.ConditionFalse, job.ReasonPodsPending, "not all pods of the job are ready yet")
	short := is(job.PodsReady, metav1.ConditionFalse, "Unschedulable", "0/2 nodes are available")
	runs, notYet := is(job.Running, metav1.ConditionTrue, job.ReasonGatePassed, "all nodes answered and the command runs"), is(job.Running, metav1.ConditionFalse, job.ReasonWaitingForPods, "the launcher cannot start before all pods of the job run")
	gate := is(job.Running, metav1.ConditionFalse, job.ReasonWaitingForNodes, "the launcher waits until all nodes answer")
	held := is(job.Created, metav1.ConditionFalse, "QuotaExceeded", "exceeded quota")
	suspended := is(trainer.TrainJobSuspended, metav1.ConditionTrue, job.ReasonSuspended, "TrainJob is suspended")
	resumed := is(trainer.TrainJobSuspended, metav1.ConditionFalse, job.ReasonResumed, "TrainJob is resumed")
	again, wasAgain := is(job.Restarting, metav1.ConditionTrue, "MachineLost", "restart 1 of 1: Worker 0"), is(job.Restarting, metav1.ConditionFalse, job.ReasonRestarted, "restart 1 of 1: Worker 0")
	complete := is(trainer.TrainJobComplete, metav1.ConditionTrue, job.ReasonCompleted, "the launcher succeeded")
	failed := is(trainer.TrainJobFailed, metav1.ConditionTrue, "RankFailed", "rank 3 exited with code 3")
	noPodsAnyMore, stoppedRunning := is(job.PodsReady, metav1.ConditionFalse, job.ReasonSuspended, "the job is suspended"), is(job.Running, metav1.ConditionFalse, job.ReasonSuspended, "the job is suspended")
	says := func(why metav1.Condition) metav1.Condition {
		return is(job.Created, metav1.ConditionTrue, mpi.Reason(why.Reason), why.Message)
	}
	list := func(c ...metav1.Condition) []metav1.Condition { return c }
	return map[string]struct{ all, shown []metav1.Condition }{
		"New":            {nil, nil},
		"Held":           {list(held), list(says(held))},
		"Made":           {list(noPods, notYet, created), list(created)},
		"ShortOfRoom":    {list(short, notYet, created), list(says(short))},
		"Gate":           {list(gate, created, pods), list(created)},
		"Runs":           {list(created, pods, runs), nil},
		"LosesAPod":      {list(short, created, runs), nil},
		"MadeSuspended":  {list(noPodsAnyMore, stoppedRunning, created, suspended), list(suspended)},
		"Resumed":        {list(resumed, noPods, notYet, created), list(created)},
		"RunsResumed":    {list(resumed, created, pods, runs), nil},
		"Restarting":     {list(noPods, notYet, created, again), list(again)},
		"RunsRestarted":  {list(wasAgain, created, pods, runs), nil},
		"Complete":       {list(created, complete), list(complete)},
		"Failed":         {list(created, failed), list(failed)},
		"FailedUnmade":   {list(held, failed), list(failed)},
		"SuspendedLater": {list(noPodsAnyMore, stoppedRunning, wasAgain, created, suspended), list(suspended)},
	}
}

// What clients see is what they know, and nothing is lost: what is written is read again, in every state of a job.
func TestRecord(t *testing.T) {
	for name, life := range lives() {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(life.shown, status.PublishedConditions(life.all)); diff != "" {
				t.Errorf("the status shows: -want, +got:\n%s", diff)
			}
			trainJob := written(someJob(), life.all)
			want := inShort(status.MergeStatusConditions(life.all, life.shown))
			if diff := cmp.Diff(want, inShort(status.AllConditions(trainJob))); diff != "" {
				t.Errorf("what was written is not what is read: -want, +got:\n%s", diff)
			}
		})
	}
}

func someJob() *trainer.TrainJob { return &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{UID: "u"}} }

// To run a job once more people copy it, with its annotations.
func TestACopyOfAJobBeginsAnew(t *testing.T) {
	trainJob := written(someJob(), lives()["Runs"].all)
	trainJob.UID, trainJob.Status.Conditions = "copy", nil
	if got := status.AllConditions(trainJob); len(got) > 0 {
		t.Errorf("it has conditions: %v", inShort(got))
	}
}

// written is a TrainJob after its conditions were written.
func written(trainJob *trainer.TrainJob, all []metav1.Condition) *trainer.TrainJob {
	record := jobv1.Record{UID: trainJob.UID, Conditions: status.RecordedConditions(all)}
	trainJob.Annotations = map[string]string{jobv1.Annotation: status.EncodeRecord(trainJob, record)}
	trainJob.Status.Conditions = status.PublishedConditions(all)
	return trainJob
}

// Whoever may write a TrainJob may write its annotations.
func TestRecordsThatUsersWrote(t *testing.T) {
	shown := []metav1.Condition{is(trainer.TrainJobComplete, metav1.ConditionTrue, job.ReasonCompleted, "")}
	for name, text := range map[string]string{
		"NoJSON": "{", "List": `[{"type":"Running"}]`, "Empty": "", "Null": "null",
		"Lies": `{"uid":"u","conditions":[{"type":"Failed","status":"True"},{"type":"Complete","status":"True","reason":"Lie"},{"type":"Suspended","status":"True"}]}`,
	} {
		trainJob := someJob()
		trainJob.Annotations = map[string]string{jobv1.Annotation: text}
		trainJob.Status.Conditions = shown
		if diff := cmp.Diff(shown, status.AllConditions(trainJob)); diff != "" {
			t.Errorf("%s: ends and suspensions are what the status says: -want, +got:\n%s", name, diff)
		}
	}
}

// A record has 16 KiB at most, whatever others write into messages.
func TestRecordsAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	record := jobv1.Record{
		UID: "u", Message: long, Cause: &jobv1.Cause{Message: long, Remedy: long, Lines: []string{long, long, long}},
		Queue: &jobv1.Queue{Text: long}, Restarts: &jobv1.Restarts{Attempts: make([]jobv1.Attempt, jobv1.MaxAttempts)},
	}
	for i := range record.Restarts.Attempts {
		record.Restarts.Attempts[i].Message = long
	}
	for _, kind := range job.ConditionOrder {
		record.Conditions = append(record.Conditions, is(kind, metav1.ConditionFalse, "Why", long))
	}
	if got := len(status.EncodeRecord(someJob(), record)); got == 0 || got > jobv1.MaxBytes {
		t.Errorf("a record of %d bytes", got)
	}
}
