package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
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
			if job.IsFinished(trainJob) {
				return
			}
			if diff := cmp.Diff(status.RecordCompanion(someJob(), life.all), status.RecordCompanion(someJob(), status.ExecutorConditions(trainJob))); diff != "" {
				t.Errorf("what was written is not what is read: -want, +got:\n%s", diff)
			}
			if again := status.RecordOf(trainJob, status.ExecutorConditions(trainJob)); again != trainJob.Annotations[mpi.RecordAnnotation] {
				t.Errorf("the next pass would write %s", again)
			}
		})
	}
}

func someJob() *trainer.TrainJob { return &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{UID: "u"}} }

// To run a job once more people copy it, with its annotations.
func TestACopyOfAJobBeginsAnew(t *testing.T) {
	trainJob := written(someJob(), lives()["Runs"].all)
	trainJob.UID, trainJob.Status.Conditions = "copy", nil
	if got := status.ExecutorConditions(trainJob); got != nil {
		t.Errorf("it has conditions: %v", inShort(got))
	}
}

// written is a TrainJob after its conditions were written.
func written(trainJob *trainer.TrainJob, all []metav1.Condition) *trainer.TrainJob {
	if record := status.RecordOf(trainJob, all); record != "" {
		trainJob.Annotations = map[string]string{mpi.RecordAnnotation: record}
	}
	trainJob.Status.Conditions = status.PublishedConditions(all)
	return trainJob
}

// Most jobs are made, run and complete: the first step of each needs no record.
func TestRecordOfAJobThatIsMadeIsEmpty(t *testing.T) {
	for _, name := range []string{"Made", "MadeSuspended", "Held"} {
		if record := status.RecordOf(someJob(), lives()[name].all); record != "" {
			t.Errorf("%s is recorded: %s", name, record)
		}
	}
}

func TestRecordStaysAfterTheEnd(t *testing.T) {
	trainJob := written(someJob(), lives()["Runs"].all)
	before := trainJob.Annotations[mpi.RecordAnnotation]
	if written(trainJob, lives()["Complete"].all); trainJob.Annotations[mpi.RecordAnnotation] != before {
		t.Errorf("the end is written twice: %s", trainJob.Annotations[mpi.RecordAnnotation])
	}
}

// Whoever may write a TrainJob may write its annotations.
func TestRecordsThatUsersWrote(t *testing.T) {
	shown := []metav1.Condition{is(trainer.TrainJobComplete, metav1.ConditionTrue, job.ReasonCompleted, "")}
	for name, text := range map[string]string{
		"NoJSON": "{", "List": `[{"type":"Running"}]`, "Empty": "", "Null": "null",
		"Lies": `{"uid":"u","conditions":[{"type":"Failed","status":"True"},{"type":"Complete","status":"True","reason":"Lie"},{"type":"Suspended","status":"True"}]}`,
	} {
		trainJob := someJob()
		trainJob.Annotations = map[string]string{mpi.RecordAnnotation: text}
		trainJob.Status.Conditions = shown
		if diff := cmp.Diff(shown, status.AllConditions(trainJob)); diff != "" {
			t.Errorf("%s: ends and suspensions are what the status says: -want, +got:\n%s", name, diff)
		}
	}
}

// All annotations of an object together have 256 KiB.
func TestRecordsFitAnAnnotation(t *testing.T) {
	var all []metav1.Condition
	for _, kind := range job.ConditionOrder {
		all = append(all, is(kind, metav1.ConditionFalse, "Why", strings.Repeat("ü", 100_000)))
	}
	if got := len(status.RecordOf(someJob(), all)); got > 200<<10 {
		t.Errorf("a record of %d bytes", got)
	}
}

// A companion adds to what it has said, and leaves the status to Kubeflow Trainer.
func TestRecordBeside(t *testing.T) {
	trainJob := someJob()
	trainJob.Status.Conditions = []metav1.Condition{is(trainer.TrainJobFailed, metav1.ConditionTrue, "FailedJobs", "jobset failed")}
	for _, ours := range [][]metav1.Condition{
		{is(job.Guarded, metav1.ConditionFalse, diagnose.NameTaken, "somebody else's")},
		{is(job.Running, metav1.ConditionTrue, job.ReasonGatePassed, "all nodes answered and the command runs")},
		{is(job.Running, metav1.ConditionFalse, job.ReasonFinished, "the job is over"), is(job.Diagnosed, metav1.ConditionTrue, "RankFailed", "rank 3")},
	} {
		trainJob.Annotations = map[string]string{mpi.RecordAnnotation: status.RecordCompanion(trainJob, ours)}
	}
	want := []string{"Guarded=False/NameTaken", "Running=False/Finished", "Diagnosed=True/RankFailed", "Failed=True/FailedJobs"}
	if diff := cmp.Diff(want, inShort(status.AllConditions(trainJob))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
