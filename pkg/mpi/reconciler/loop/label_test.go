package loop

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/test/fakecluster"
)

// change lets somebody else change the TrainJob, and a pass go by.
func (c *cluster) change(edit func(*trainer.TrainJob)) *trainer.TrainJob {
	c.t.Helper()
	var trainJob trainer.TrainJob
	if err := c.Get(c.t.Context(), name, &trainJob); err != nil {
		c.t.Fatal(err)
	}
	edit(&trainJob)
	if err := c.Update(c.t.Context(), &trainJob); err != nil {
		c.t.Fatal(err)
	}
	c.pass()
	if err := c.Get(c.t.Context(), name, &trainJob); err != nil {
		c.t.Fatal(err)
	}
	return &trainJob
}

func suspendIs(want bool) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) { trainJob.Spec.Suspend = ptr.To(want) }
}

func refused(trainJob *trainer.TrainJob) {
	trainJob.Spec.Trainer = &trainer.Trainer{NumNodes: ptr.To[int32](0)}
}

// People find the TrainJobs that we run by one label. It comes with what is recorded of a job, and again with what is recorded next.
func TestTrainJobsThatWeRunAreLabelled(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(suspendIs(true)))
	c.pass()
	trainJob := c.change(suspendIs(false))
	if trainJob.Annotations[jobv1.Annotation] == "" || !hasJobLabel(trainJob) {
		t.Fatalf("a job that was resumed has the labels %v, and the record %q", trainJob.Labels, trainJob.Annotations[jobv1.Annotation])
	}
	for reason, label := range map[string]map[string]string{"taken away": {"team": "vision"}, "changed": {"team": "vision", mpi.TrainJobLabel: "other"}} {
		trainJob = c.change(func(trainJob *trainer.TrainJob) {
			trainJob.Labels = label
			suspendIs(!*trainJob.Spec.Suspend)(trainJob)
		})
		if !hasJobLabel(trainJob) || trainJob.Labels["team"] != "vision" {
			t.Errorf("a label that was %s: %v", reason, trainJob.Labels)
		}
	}
}

// A job whose annotations leave no room for a record is found while it runs, too.
func TestJobsWithoutARecordAreLabelled(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(suspendIs(true)))
	c.pass()
	trainJob := c.change(func(trainJob *trainer.TrainJob) {
		suspendIs(false)(trainJob)
		trainJob.Labels = nil
		trainJob.Annotations = map[string]string{"notes": strings.Repeat("x", 256<<10-len("notes"))}
	})
	if trainJob.Annotations[jobv1.Annotation] != "" || !hasJobLabel(trainJob) {
		t.Errorf("labels %v", trainJob.Labels)
	}
}

// A job that is over before it was made, because it was refused or was so fast, is found too.
func TestJobsThatAreOverAtOnceAreLabelled(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(refused))
	if _, shown := c.pass(); shown.Type != trainer.TrainJobFailed {
		t.Fatalf("the job is not refused: %+v", shown)
	}
	if trainJob := c.change(func(*trainer.TrainJob) {}); !hasJobLabel(trainJob) || trainJob.Annotations[jobv1.Annotation] == "" {
		t.Errorf("labels %v, annotations %v", trainJob.Labels, trainJob.Annotations)
	}
}

// A job that waits for its runtime is found, with why it waits.
func TestJobsThatCannotBeMadeAreLabelled(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(func(trainJob *trainer.TrainJob) { trainJob.Spec.RuntimeRef.Name = "none-such" }))
	c.pass()
	trainJob := c.change(func(*trainer.TrainJob) {})
	if !hasJobLabel(trainJob) || trainJob.Annotations[jobv1.Annotation] == "" {
		t.Errorf("labels %v, annotations %v", trainJob.Labels, trainJob.Annotations)
	}
	if j := view.JobOf(view.JobObjects{TrainJob: trainJob}); j.Executor != jobv1.Controller || j.Cause == nil || j.Cause.Reason != string(diagnose.RuntimeNotFound) {
		t.Errorf("it is shown as a job of %s with the cause %+v", j.Executor, j.Cause)
	}
}

// Whoever may write a TrainJob may write the label: it makes no job ours, and none somebody else's.
func TestTheLabelDecidesNothing(t *testing.T) {
	lies := func(trainJob *trainer.TrainJob) {
		trainJob.Labels = map[string]string{mpi.TrainJobLabel: "other"}
	}
	foreign := func(trainJob *trainer.TrainJob) { trainJob.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") }
	if _, shown := newCluster(t, fakecluster.TrainJob(lies, foreign, refused)).pass(); shown.Type != "" {
		t.Errorf("a job of another cluster has the condition %+v", shown)
	}
	if _, shown := newCluster(t, fakecluster.TrainJob(lies, refused)).pass(); shown.Type != trainer.TrainJobFailed {
		t.Errorf("our job has the condition %+v", shown)
	}
}

// What others have written since we looked is not lost.
func TestALabelKeepsThoseOfOthers(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(func(trainJob *trainer.TrainJob) {
		trainJob.Labels, trainJob.Annotations = map[string]string{"team": "vision"}, map[string]string{"note": "mine"}
	}))
	if err := c.controller.patchRecord(t.Context(), fakecluster.TrainJob(), "{}"); err == nil {
		t.Error("nobody looks again")
	}
	var trainJob trainer.TrainJob
	if err := c.Get(t.Context(), name, &trainJob); err != nil || trainJob.Labels["team"] != "vision" || trainJob.Annotations["note"] != "mine" {
		t.Errorf("labels %v, annotations %v, %v", trainJob.Labels, trainJob.Annotations, err)
	}
}
