package clients

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

func is(kind string, status metav1.ConditionStatus, second int) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(time.Unix(int64(second), 0))}
}

func TestMisread(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		conditions []metav1.Condition
		ours       bool
		want       string
	}{
		"None":       {"a job that runs", nil, true, ""},
		"Suspended":  {"the dashboard looks at the spec", []metav1.Condition{is("Suspended", "True", 1)}, true, ""},
		"Unknown":    {"", []metav1.Condition{is("PodsReady", "True", 1)}, true, "does not know PodsReady"},
		"Newer":      {"it takes the newest", []metav1.Condition{is("Created", "True", 1), is("Diagnosed", "True", 2)}, false, "does not know Diagnosed"},
		"Older":      {"whatever the order", []metav1.Condition{is("Complete", "True", 2), is("Diagnosed", "True", 1)}, false, "the SDK takes"},
		"Resumed":    {"kubectl shows the type, whatever the status", []metav1.Condition{is("Suspended", "False", 1)}, true, "STATE does not tell that Suspended is False"},
		"ByTrainer":  {"that is its affair", []metav1.Condition{is("Suspended", "False", 1), is("Complete", "True", 2)}, false, ""},
		"Beside":     {"a companion keeps out of the status", []metav1.Condition{is("Created", "True", 1)}, false, "the SDK takes a job with the condition Created"},
		"TwoAtATime": {"", []metav1.Condition{is("Created", "True", 1), is("Failed", "True", 2)}, true, "differently among 2"},
	} {
		err := Misread(tc.conditions, tc.ours)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %s: want %q, got %v", name, tc.reason, tc.want, err)
		}
	}
}

// Beside Kubeflow Trainer the status is its own, and TrainJobs of which we write nothing are none of ours.
func TestWitnessJudgesByWhoWrites(t *testing.T) {
	w := &Witness{stop: func() {}, stopped: make(chan error, 1), misread: map[string]error{}}
	w.stopped <- nil
	resumed := trainer.TrainJobStatus{Conditions: []metav1.Condition{is("Suspended", "False", 1)}}
	for name, by := range map[string]metav1.ManagedFieldsEntry{
		"beside": {Manager: mpi.ControllerName}, "ours": {Manager: mpi.ControllerName, Subresource: "status"}, "theirs": {Manager: "trainer", Subresource: "status"},
	} {
		w.see(&trainer.TrainJob{Status: resumed, ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, ManagedFields: []metav1.ManagedFieldsEntry{by}}})
	}
	if statuses, err := w.Verdict(); statuses != 2 || err == nil || strings.Contains(err.Error(), "beside") || !strings.Contains(err.Error(), "team/ours") {
		t.Errorf("%d statuses, %v", statuses, err)
	}
}
