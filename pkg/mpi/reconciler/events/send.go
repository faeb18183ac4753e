package events

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// uneventful are the reasons of conditions that say only that nothing has happened yet, or repeat another condition.
var uneventful = map[mpi.Reason]bool{
	job.ReasonWaitingForPods:  true,
	job.ReasonWaitingForNodes: true,
	job.ReasonFinished:        true,
	job.ReasonRestarting:      true,
}

// milestones are the reasons of events where users know a step by another name than the condition's reason.
var milestones = map[mpi.Reason]string{
	job.ReasonJobSetCreated: "Submitted",
	job.ReasonPodsPending:   "GangScheduling",
	job.ReasonGatePassed:    "TrainingStarted",
}

// Send sends an event for each change: Submitted, GangScheduling, PodsReady, TrainingStarted and Completed for a job
// that does well, and the reason of what goes wrong. What is false keeps the job from running: a warning. A job that
// cannot be made says so in two conditions at once, which is one event.
func (r *Recorder) Send(trainJob *trainer.TrainJob, changes []metav1.Condition) {
	type words struct{ reason, message string }
	sent := map[words]bool{}
	for _, change := range changes {
		if status.IsCompletionBesideTrainer(trainJob, change) {
			change.Type, change.Status, change.Reason = trainer.TrainJobComplete, metav1.ConditionTrue, string(job.ReasonCompleted)
		}
		this := words{change.Reason, change.Message}
		if kind := eventType(trainJob.Status.Conditions, change); kind != "" && !sent[this] {
			sent[this] = true
			reason := cmp.Or(milestones[mpi.Reason(change.Reason)], change.Reason)
			r.Eventf(trainJob, nil, kind, reason, change.Type, "%s", status.ClipMessage(change.Message, noteLimit))
		}
	}
}

// eventType returns the empty string for a change that is not an event.
func eventType(before []metav1.Condition, change metav1.Condition) string {
	isTrue := change.Status == metav1.ConditionTrue
	switch reason := mpi.Reason(change.Reason); {
	case uneventful[reason]:
		return ""
	case reason == job.ReasonGatePassed && apimeta.IsStatusConditionTrue(before, job.Running):
		return "" // an earlier warning no longer holds
	case reason == job.ReasonPodsPending && apimeta.IsStatusConditionTrue(before, job.PodsReady):
		// The gang has started before; a pod is not ready for a moment.
		return ""
	case change.Type == trainer.TrainJobFailed, change.Type == job.Diagnosed, change.Type == job.Restarting && isTrue,
		change.Type == job.Running && isTrue && reason != job.ReasonGatePassed:
		return corev1.EventTypeWarning
	case change.Type == trainer.TrainJobSuspended, change.Type == job.Restarting, isTrue,
		reason == job.ReasonPodsPending, reason == job.ReasonFetchingData:
		return corev1.EventTypeNormal
	case reason == job.ReasonSuspended:
		return ""
	case change.Type == job.PodsReady && (repeatsCreated(before, change) || diagnose.MustBeRecorded(reason)):
		return "" // the end or the restart that follows reports the lost pod
	}
	return corev1.EventTypeWarning
}

// repeatsCreated reports whether the condition Created had the same reason: a job that is held back says so in both.
func repeatsCreated(before []metav1.Condition, change metav1.Condition) bool {
	created := apimeta.FindStatusCondition(before, job.Created)
	return created != nil && created.Status == metav1.ConditionFalse && created.Reason == change.Reason
}

// noteLimit is how much of a note the API server accepts, in bytes (k8s.io/kubernetes pkg/apis/core/validation).
const noteLimit = 1024
