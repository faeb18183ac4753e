package job

import (
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestUrgent(t *testing.T) {
	status := func(conditions ...metav1.Condition) trainer.TrainJobStatus {
		return trainer.TrainJobStatus{Conditions: conditions}
	}
	is := func(kind string, value metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: value, Reason: reason}
	}
	counts := status()
	counts.JobsStatus = []trainer.JobStatus{{Name: "node", Active: ptr.To[int32](1)}}
	cases := map[string]struct {
		reason        string
		before, after trainer.TrainJobStatus
		want          bool
	}{
		"Created":    {"the next step follows within a second", status(), status(is(Created, "True", "JobSetCreated"), is(PodsReady, "False", "PodsPending")), false},
		"Counts":     {"", status(), counts, false},
		"PodsReady":  {"the gate follows in milliseconds", status(is(PodsReady, "False", "PodsPending")), status(is(PodsReady, "True", "PodsReady")), false},
		"Running":    {"what the user waits for", status(), status(is(Running, "True", "GatePassed")), true},
		"Problem":    {"bad news", status(is(PodsReady, "False", "PodsPending")), status(is(PodsReady, "False", "Unschedulable")), true},
		"Words":      {"even if only its words are new", status(metav1.Condition{Type: PodsReady, Status: "False", Reason: "Unschedulable", Message: "a"}), status(metav1.Condition{Type: PodsReady, Status: "False", Reason: "Unschedulable", Message: "b"}), true},
		"Relapse":    {"a job that is not ready any more", status(is(PodsReady, "True", "PodsReady")), status(is(PodsReady, "False", "PodsPending")), true},
		"Failed":     {"", status(), status(is(trainer.TrainJobFailed, "True", "OOMKilled")), true},
		"Suspended":  {"a queue waits for it", status(), status(is(trainer.TrainJobSuspended, "True", "Suspended")), true},
		"Restarting": {"", status(), status(is(Restarting, "True", "MachineLost")), true},
		"Same":       {"", status(is(Running, "True", "GatePassed")), status(is(Running, "True", "GatePassed")), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Urgent(tc.before, tc.after); got != tc.want {
				t.Errorf("%s: want %v", tc.reason, tc.want)
			}
		})
	}
}
