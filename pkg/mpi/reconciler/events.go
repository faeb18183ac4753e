package reconciler

import (
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// transitions returns the conditions that say something new: another status or another reason.
func transitions(before, after []metav1.Condition) []metav1.Condition {
	var changes []metav1.Condition
	for _, condition := range after {
		earlier := apimeta.FindStatusCondition(before, condition.Type)
		if earlier == nil || earlier.Status != condition.Status || earlier.Reason != condition.Reason {
			changes = append(changes, condition)
		}
	}
	return changes
}

// uneventful are the reasons of conditions that say only that nothing has happened yet, or repeat another condition.
var uneventful = map[mpi.Reason]bool{
	job.ReasonPodsPending:     true,
	job.ReasonWaitingForPods:  true,
	job.ReasonWaitingForNodes: true,
	job.ReasonFinished:        true,
}

// announce sends an event for each change. What is false keeps the job from running: a warning.
func (r *Reconciler) announce(trainJob *trainer.TrainJob, changes []metav1.Condition) {
	for _, change := range changes {
		if kind := eventType(change); kind != "" {
			r.recorder.Eventf(trainJob, nil, kind, change.Reason, change.Type, "%s", clipped(change.Message))
		}
	}
}

// eventType returns the empty string for a change that is no event.
func eventType(change metav1.Condition) string {
	isTrue := change.Status == metav1.ConditionTrue
	switch {
	case uneventful[mpi.Reason(change.Reason)]:
		return ""
	case change.Type == trainer.TrainJobFailed:
		return corev1.EventTypeWarning
	case change.Type == trainer.TrainJobSuspended || isTrue:
		return corev1.EventTypeNormal
	case mpi.Reason(change.Reason) == job.ReasonSuspended:
		return ""
	}
	return corev1.EventTypeWarning
}

// clipped keeps a message within what the API server accepts as the note of an event: 1024 bytes.
func clipped(message string) string {
	const most = 1000
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}
