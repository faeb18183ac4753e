package job

import (
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestPatience(t *testing.T) {
	status := func(conditions ...metav1.Condition) trainer.TrainJobStatus {
		return trainer.TrainJobStatus{Conditions: conditions}
	}
	is := func(kind string, value metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: value, Reason: reason}
	}
	counts := status()
	counts.JobsStatus = []trainer.JobStatus{{Name: "node", Active: ptr.To[int32](1)}}
	over := status(is(trainer.TrainJobComplete, "True", "Completed"))
	overCounts := *over.DeepCopy()
	overCounts.JobsStatus = counts.JobsStatus
	stopping := status(is(trainer.TrainJobSuspended, "True", "Suspended"))
	stopping.JobsStatus = []trainer.JobStatus{{Name: "node", Active: ptr.To[int32](1)}, {Name: "launcher", Active: ptr.To[int32](1)}}
	half := *stopping.DeepCopy()
	half.JobsStatus[0].Active = ptr.To[int32](0)
	stopped := *half.DeepCopy()
	stopped.JobsStatus[1].Active = ptr.To[int32](0)
	cases := map[string]struct {
		reason        string
		before, after trainer.TrainJobStatus
		want          time.Duration
	}{
		"Created":     {"the next step follows within a second", status(), status(is(Created, "True", "JobSetCreated"), is(PodsReady, "False", "PodsPending")), Calm},
		"Counts":      {"", status(), counts, Counting},
		"CountsOver":  {"they change once more", over, overCounts, Calm},
		"HalfStopped": {"", stopping, half, Counting},
		"Stopped":     {"Kueue gives the machines away now", half, stopped, 0},
		"PodsReady":   {"the gate follows in milliseconds as a rule", status(is(PodsReady, "False", "PodsPending")), status(is(PodsReady, "True", "PodsReady")), Settling},
		"Gates":       {"a queue takes them away in a moment as a rule", status(is(PodsReady, "False", "PodsPending")), status(is(PodsReady, "False", "SchedulingGated")), Settling},
		"Running":     {"what the user waits for", status(), status(is(Running, "True", "GatePassed")), 0},
		"Problem":     {"bad news", status(is(PodsReady, "False", "PodsPending")), status(is(PodsReady, "False", "Unschedulable")), 0},
		"Words":       {"even if only its words are new", status(metav1.Condition{Type: PodsReady, Status: "False", Reason: "Unschedulable", Message: "a"}), status(metav1.Condition{Type: PodsReady, Status: "False", Reason: "Unschedulable", Message: "b"}), 0},
		"Relapse":     {"a job that is not ready any more", status(is(PodsReady, "True", "PodsReady")), status(is(PodsReady, "False", "PodsPending")), 0},
		"Failed":      {"", status(), status(is(trainer.TrainJobFailed, "True", "OOMKilled")), 0},
		"Suspended":   {"a queue waits for it", status(), status(is(trainer.TrainJobSuspended, "True", "Suspended")), 0},
		"Restarting":  {"", status(), status(is(Restarting, "True", "MachineLost")), 0},
		"Same":        {"", status(is(Running, "True", "GatePassed")), status(is(Running, "True", "GatePassed")), Counting},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Patience(tc.before, tc.after); got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}
