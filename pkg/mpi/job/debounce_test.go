package job_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

func TestPatience(t *testing.T) {
	now := func(conditions ...metav1.Condition) trainer.TrainJobStatus {
		return trainer.TrainJobStatus{Conditions: conditions}
	}
	is := func(kind string, value metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: value, Reason: reason}
	}
	counts := now()
	counts.JobsStatus = []trainer.JobStatus{{Name: "node", Active: ptr.To[int32](1)}}
	over := now(is(trainer.TrainJobComplete, "True", "Completed"))
	overCounts := *over.DeepCopy()
	overCounts.JobsStatus = counts.JobsStatus
	stopping := now(is(trainer.TrainJobSuspended, "True", "Suspended"))
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
		"Created":     {"the next step follows within a second", now(), now(is(job.Created, "True", "JobSetCreated"), is(job.PodsReady, "False", "PodsPending")), status.DebounceStep},
		"Counts":      {"", now(), counts, status.DebounceCounts},
		"CountsOver":  {"they change once more", over, overCounts, status.DebounceStep},
		"HalfStopped": {"", stopping, half, status.DebounceCounts},
		"Stopped":     {"Kueue gives the machines away now", half, stopped, 0},
		"PodsReady":   {"the gate follows usually in milliseconds", now(is(job.PodsReady, "False", "PodsPending")), now(is(job.PodsReady, "True", "PodsReady")), status.DebounceReady},
		"Gates":       {"a queue usually takes them away in a moment", now(is(job.PodsReady, "False", "PodsPending")), now(is(job.PodsReady, "False", "SchedulingGated")), status.DebounceReady},
		"Running":     {"what the user waits for", now(), now(is(job.Running, "True", "GatePassed")), 0},
		"Problem":     {"bad news", now(is(job.PodsReady, "False", "PodsPending")), now(is(job.PodsReady, "False", "Unschedulable")), 0},
		"Words":       {"even if only its words are new", now(metav1.Condition{Type: job.PodsReady, Status: "False", Reason: "Unschedulable", Message: "a"}), now(metav1.Condition{Type: job.PodsReady, Status: "False", Reason: "Unschedulable", Message: "b"}), 0},
		"Relapse":     {"a job that is not ready any more", now(is(job.PodsReady, "True", "PodsReady")), now(is(job.PodsReady, "False", "PodsPending")), 0},
		"Failed":      {"", now(), now(is(trainer.TrainJobFailed, "True", "OOMKilled")), 0},
		"Suspended":   {"a queue waits for it", now(), now(is(trainer.TrainJobSuspended, "True", "Suspended")), 0},
		"Restarting":  {"", now(), now(is(job.Restarting, "True", "MachineLost")), 0},
		"Same":        {"", now(is(job.Running, "True", "GatePassed")), now(is(job.Running, "True", "GatePassed")), status.DebounceCounts},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := status.DebounceDelay(tc.before, tc.after, false); got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}
