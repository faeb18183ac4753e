package events

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

func TestTransitions(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}
	}
	before := []metav1.Condition{
		condition("Created", metav1.ConditionTrue, "JobSetCreated", "a"),
		condition("PodsReady", metav1.ConditionFalse, "PodsPending", "a"),
		condition("Running", metav1.ConditionFalse, "WaitingForPods", "a"),
	}
	after := []metav1.Condition{
		condition("Created", metav1.ConditionTrue, "JobSetCreated", "other words are no news"),
		condition("PodsReady", metav1.ConditionFalse, "Unschedulable", "another reason is"),
		condition("Running", metav1.ConditionTrue, "GatePassed", "another status is"),
		condition("Complete", metav1.ConditionTrue, "Completed", "and so is another condition"),
	}
	if diff := cmp.Diff(after[1:], status.NewOrChanged(before, after)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestEventType(t *testing.T) {
	ready := []metav1.Condition{{Type: "PodsReady", Status: "True"}}
	held := []metav1.Condition{{Type: "Created", Status: "False", Reason: "QuotaExceeded"}}
	cases := map[string]struct {
		reason    string
		before    []metav1.Condition
		condition metav1.Condition
		want      string
	}{
		"Progress": {"", nil, metav1.Condition{Type: "Running", Status: "True", Reason: "GatePassed"}, "Normal"},
		"Failed":   {"true, but no good news", nil, metav1.Condition{Type: "Failed", Status: "True", Reason: "OOMKilled"}, "Warning"},
		"Problem":  {"", nil, metav1.Condition{Type: "PodsReady", Status: "False", Reason: "Unschedulable"}, "Warning"},
		"Gang":     {"all pods are being scheduled together", nil, metav1.Condition{Type: "PodsReady", Status: "False", Reason: "PodsPending"}, "Normal"},
		"Fetching": {
			"nothing is wrong", nil,
			metav1.Condition{Type: "Created", Status: "False", Reason: "FetchingData"}, "Normal",
		},
		"Flapping":   {"which they are once", ready, metav1.Condition{Type: "PodsReady", Status: "False", Reason: "PodsPending"}, ""},
		"NotYet":     {"that nothing happened yet is no event", nil, metav1.Condition{Type: "Running", Status: "False", Reason: "WaitingForPods"}, ""},
		"HeldTwice":  {"Created says it", held, metav1.Condition{Type: "PodsReady", Status: "False", Reason: "QuotaExceeded"}, ""},
		"Restarting": {"a fault of the infrastructure", nil, metav1.Condition{Type: "Restarting", Status: "True", Reason: "MachineLost"}, "Warning"},
		"Restarted":  {"", nil, metav1.Condition{Type: "Restarting", Status: "False", Reason: "Restarted"}, "Normal"},
		"Diagnosed":  {"a companion says why", nil, metav1.Condition{Type: "Diagnosed", Status: "True", Reason: "OOMKilled"}, "Warning"},
		"Unguarded":  {"a companion says that others have the key", nil, metav1.Condition{Type: "Guarded", Status: "False", Reason: "NameTaken"}, "Warning"},
		"Finished":   {"Complete or Failed says it", nil, metav1.Condition{Type: "Running", Status: "False", Reason: "Finished"}, ""},
		"Suspended":  {"", nil, metav1.Condition{Type: "Suspended", Status: "True", Reason: "Suspended"}, "Normal"},
		"Resumed":    {"", nil, metav1.Condition{Type: "Suspended", Status: "False", Reason: "Resumed"}, "Normal"},
		"HeldBack":   {"the condition Suspended says it", nil, metav1.Condition{Type: "PodsReady", Status: "False", Reason: "Suspended"}, ""},
		"NotCreated": {"", nil, metav1.Condition{Type: "Created", Status: "False", Reason: "RuntimeNotFound"}, "Warning"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := eventType(tc.before, tc.condition); got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestClipped(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	if got := status.ClipMessage(long, noteLimit); len(got) > 1024 || !utf8.ValidString(got) {
		t.Errorf("an event's note has at most 1024 bytes of UTF-8, got %d (valid: %v)", len(got), utf8.ValidString(got))
	}
	if got := status.ClipMessage("short", noteLimit); got != "short" {
		t.Errorf("short messages stay: %s", got)
	}
}

// A job that cannot be made has two conditions of it at once, Created and Failed: people are told once.
func TestWhatTwoConditionsSayIsOneEvent(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	r := &Recorder{recorder}
	refused := func(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "NameTaken", Message: message}
	}
	r.Send(&trainer.TrainJob{}, []metav1.Condition{
		refused("Created", metav1.ConditionFalse, "delete the Secret"), refused("Failed", metav1.ConditionTrue, "delete the Secret"),
		refused("Failed", metav1.ConditionTrue, "delete the ConfigMap"),
	})
	close(recorder.Events)
	var sent []string
	for event := range recorder.Events {
		sent = append(sent, event)
	}
	if want := []string{"Warning NameTaken delete the Secret", "Warning NameTaken delete the ConfigMap"}; !cmp.Equal(sent, want) {
		t.Errorf("got %q, want %q", sent, want)
	}
}
