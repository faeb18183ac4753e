package job_test

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/clients"
)

// seenBy is what clients show of a TrainJob.
type seenBy struct{ sdk, dashboard, state string }

// readBy reads a TrainJob of two nodes as clients do; the launcher is one of them, as clients count.
func readBy(trainJob *trainer.TrainJob, running int, active int32) seenBy {
	shown := trainJob.Status.Conditions
	return seenBy{clients.SDK(shown, 2, running), clients.Dashboard(shown, ptr.Deref(trainJob.Spec.Suspend, false), active), clients.Column(shown)}
}

// Nobody who reads a TrainJob as Kubeflow's clients do takes it for something that it is not.
func TestClientsReadJobsRight(t *testing.T) {
	for name, tc := range map[string]struct {
		suspend bool
		// active are child Jobs with pods, and running the pods that run.
		active  int32
		running int
		want    seenBy
	}{
		"New":            {want: seenBy{"Created", "Unknown", ""}}, // before anybody has looked at it
		"Held":           {want: seenBy{"Created", "Created", "Created"}},
		"Made":           {want: seenBy{"Created", "Created", "Created"}},
		"ShortOfRoom":    {active: 2, running: 1, want: seenBy{"Created", "Running", "Created"}},
		"Gate":           {active: 2, running: 2, want: seenBy{"Created", "Running", "Created"}},
		"Runs":           {active: 2, running: 2, want: seenBy{"Running", "Running", ""}},
		"LosesAPod":      {active: 2, running: 1, want: seenBy{"Created", "Running", ""}},
		"MadeSuspended":  {suspend: true, want: seenBy{"Created", "Paused", "Suspended"}},
		"Resumed":        {active: 2, want: seenBy{"Created", "Running", "Created"}},
		"RunsResumed":    {active: 2, running: 2, want: seenBy{"Running", "Running", ""}},
		"Restarting":     {want: seenBy{"Created", "Restarting", "Restarting"}},
		"RunsRestarted":  {active: 2, running: 2, want: seenBy{"Running", "Running", ""}},
		"Complete":       {running: 1, want: seenBy{"Complete", "Succeeded", "Complete"}},
		"Failed":         {want: seenBy{"Failed", "Failed", "Failed"}},
		"FailedUnmade":   {want: seenBy{"Failed", "Failed", "Failed"}},
		"SuspendedLater": {suspend: true, want: seenBy{"Created", "Paused", "Suspended"}},
	} {
		t.Run(name, func(t *testing.T) {
			trainJob := written(someJob(), lives()[name].all)
			trainJob.Spec.Suspend = ptr.To(tc.suspend)
			if got := readBy(trainJob, tc.running, tc.active); got != tc.want {
				t.Errorf("want %+v, got %+v", tc.want, got)
			}
		})
	}
}

// Beside Kubeflow Trainer the status is its own, whatever we have to say.
func TestClientsReadJobsOfTrainerAsBefore(t *testing.T) {
	resumed := is(trainer.TrainJobSuspended, metav1.ConditionFalse, job.ReasonResumed, "TrainJob is resumed")
	for _, theirs := range [][]metav1.Condition{
		nil, {resumed}, {resumed, is(trainer.TrainJobComplete, metav1.ConditionTrue, "AllJobsCompleted", "")}, {is(trainer.TrainJobFailed, metav1.ConditionTrue, "FailedJobs", "")},
	} {
		trainJob := someJob()
		trainJob.Status.Conditions = theirs
		record := jobv1.Record{UID: trainJob.UID, Conditions: lives()["Runs"].all[1:]}
		trainJob.Annotations = map[string]string{jobv1.Annotation: status.EncodeRecord(trainJob, record)}
		if len(trainJob.Status.Conditions) != len(theirs) {
			t.Errorf("the status has %v", inShort(trainJob.Status.Conditions))
		}
		for _, c := range theirs {
			if found := apimeta.FindStatusCondition(status.AllConditions(trainJob), c.Type); found == nil || *found != c {
				t.Errorf("%s is told as %+v", c.Type, found)
			}
		}
		if !apimeta.IsStatusConditionTrue(status.AllConditions(trainJob), job.Running) {
			t.Error("what we say is lost")
		}
	}
}
