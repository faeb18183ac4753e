package job

import (
	"cmp"
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// seenBy is what clients show of a TrainJob, each by its own rules, restated here.
type seenBy struct{ sdk, dashboard, state string }

// bySDK is the status in Kubeflow's SDK 0.5.0 (kubeflow/trainer/backends/kubernetes/backend.py): pods count only where there is no condition.
func bySDK(conditions []metav1.Condition, nodes, running int) string {
	if len(conditions) == 0 {
		if nodes == running {
			return "Running"
		}
		return "Created"
	}
	for _, c := range conditions {
		if (c.Type == trainer.TrainJobComplete || c.Type == trainer.TrainJobFailed) && c.Status == metav1.ConditionTrue {
			return c.Type
		}
	}
	return "Created"
}

// byDashboard is the status in OpenShift AI's dashboard of a job without a queue (opendatahub-io/odh-dashboard, packages/model-training).
func byDashboard(conditions []metav1.Condition, suspend bool, active int32) string {
	newest := slices.Clone(conditions)
	slices.SortStableFunc(newest, func(a, b metav1.Condition) int { return b.LastTransitionTime.Compare(a.LastTransitionTime.Time) })
	basic := "Unknown"
	if i := slices.IndexFunc(newest, func(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue }); i >= 0 {
		basic = map[string]string{"Complete": "Succeeded", "Failed": "Failed", "Running": "Running", "Created": "Created", "Restarting": "Restarting"}[newest[i].Type]
	}
	switch {
	case basic == "Succeeded" || basic == "Failed":
		return basic
	case suspend:
		return "Paused"
	case active > 0:
		return "Running"
	}
	return cmp.Or(basic, "Unknown")
}

// byColumn is kubectl's column STATE.
func byColumn(conditions []metav1.Condition) string {
	if len(conditions) == 0 {
		return ""
	}
	return conditions[len(conditions)-1].Type
}

// Nobody who reads a TrainJob as Kubeflow's clients do takes it for something that it is not. The launcher is one of two nodes here, as clients count.
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
			shown := trainJob.Status.Conditions
			got := seenBy{bySDK(shown, 2, tc.running), byDashboard(shown, tc.suspend, tc.active), byColumn(shown)}
			if got != tc.want {
				t.Errorf("want %+v, got %+v", tc.want, got)
			}
		})
	}
}

// Beside Kubeflow Trainer the status is its own, whatever we have to say.
func TestClientsReadJobsOfTrainerAsBefore(t *testing.T) {
	resumed := is(trainer.TrainJobSuspended, metav1.ConditionFalse, ReasonResumed, "TrainJob is resumed")
	for _, theirs := range [][]metav1.Condition{
		nil, {resumed}, {resumed, is(trainer.TrainJobComplete, metav1.ConditionTrue, "AllJobsCompleted", "")}, {is(trainer.TrainJobFailed, metav1.ConditionTrue, "FailedJobs", "")},
	} {
		trainJob := someJob()
		trainJob.Status.Conditions = theirs
		trainJob.Annotations = map[string]string{RecordAnnotation: RecordBeside(trainJob, lives()["Runs"].all[1:])}
		if len(trainJob.Status.Conditions) != len(theirs) {
			t.Errorf("the status has %v", inShort(trainJob.Status.Conditions))
		}
		for _, c := range theirs {
			if found := apimeta.FindStatusCondition(Conditions(trainJob), c.Type); found == nil || *found != c {
				t.Errorf("%s is told as %+v", c.Type, found)
			}
		}
		if !apimeta.IsStatusConditionTrue(Conditions(trainJob), Running) {
			t.Error("what we say is lost")
		}
	}
}
