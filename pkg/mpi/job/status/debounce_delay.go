package status

import (
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// DebounceStep is how long a step may wait for more, so that a job costs the API server two or three writes of its status and not
// eight: on the way to the first rank the steps follow each other within seconds. DebounceReady is how long news may wait that
// is usually followed by better news: all pods are ready, and next the launcher says that the command runs, or cannot be
// reached. DebounceCounts is how long the counts of child Jobs may wait for the next condition, once they change no more. Bad news, and what a user or a queue
// waits for, is written at once.
const (
	DebounceStep   = 2 * time.Second
	DebounceReady  = 10 * time.Second
	DebounceCounts = 30 * time.Second
)

// steps are the reasons that tell of a step on the way.
var steps = map[mpi.Reason]time.Duration{
	job.ReasonJobSetCreated: DebounceStep, job.ReasonPodsPending: DebounceStep, job.ReasonWaitingForPods: DebounceStep,
	job.ReasonPodsReady: DebounceReady, job.ReasonWaitingForNodes: DebounceReady,
	// Kueue's topology-aware scheduling makes all pods with a gate, and takes it away from one after the other.
	diagnose.SchedulingGated: DebounceReady,
}

// DebounceDelay returns how long a status may wait to be written, 0 for one that tells of more than steps on the way and counts
// of Jobs. The counts of a job that is over change once more.
func DebounceDelay(before, after trainer.TrainJobStatus, moved bool) time.Duration {
	if lastJobInactive(before, after) {
		return 0
	}
	wait := DebounceCounts
	if moved {
		wait = DebounceReady
	}
	if job.HasEndCondition(before) {
		wait = DebounceStep
	}
	for _, condition := range after.Conditions {
		earlier := apimeta.FindStatusCondition(before.Conditions, condition.Type)
		if earlier != nil && earlier.Status == condition.Status && earlier.Reason == condition.Reason && earlier.Message == condition.Message {
			continue
		}
		if turnsFalse(earlier, condition) || startsResuming(earlier, condition) {
			return 0
		}
		wait = min(wait, steps[mpi.Reason(condition.Reason)])
	}
	return wait
}

// lastJobInactive reports whether the last Job of a suspended job is active no more. Kueue looks at the counts, and gives the machines to the job
// that waits for them only then (sigs.k8s.io/kueue pkg/controller/jobs/trainjob, IsActive).
func lastJobInactive(before, after trainer.TrainJobStatus) bool {
	return apimeta.IsStatusConditionTrue(after.Conditions, trainer.TrainJobSuspended) && hasActivePods(before) && !hasActivePods(after)
}

func hasActivePods(status trainer.TrainJobStatus) bool {
	return slices.ContainsFunc(status.JobsStatus, func(s trainer.JobStatus) bool { return ptr.Deref(s.Active, 0) > 0 })
}

// turnsFalse reports whether something that held does not hold any more.
func turnsFalse(earlier *metav1.Condition, condition metav1.Condition) bool {
	return earlier != nil && earlier.Status == metav1.ConditionTrue && condition.Status == metav1.ConditionFalse
}

// startsResuming reports whether the pods of a suspended job are being made: from now on they are lost with their JobSet (JobSetGone).
func startsResuming(earlier *metav1.Condition, condition metav1.Condition) bool {
	return condition.Type == job.Running && earlier != nil && earlier.Reason == string(job.ReasonSuspended) && condition.Reason != string(job.ReasonSuspended)
}
