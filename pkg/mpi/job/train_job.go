package job

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// IsManagedHere reports whether a TrainJob is for a TrainJob controller in this cluster (and not for MultiKueue), and is not being
// deleted. Nothing is done about one that is not.
func IsManagedHere(trainJob *trainer.TrainJob) bool {
	const trainJobController = "trainer.kubeflow.org/trainjob-controller"
	return ptr.Deref(trainJob.Spec.ManagedBy, trainJobController) == trainJobController && trainJob.DeletionTimestamp == nil
}

// IsFinished reports whether a TrainJob has a terminal condition.
func IsFinished(trainJob *trainer.TrainJob) bool {
	return HasEndCondition(trainJob.Status)
}

// NamesTrainerRuntime reports whether a TrainJob names a runtime of the API group of Kubeflow Trainer. Trainer's own controller and webhook refuse
// all others, the empty group too; a reference without a group gets it by default.
func NamesTrainerRuntime(ref trainer.RuntimeRef) bool {
	return ptr.Deref(ref.APIGroup, trainer.GroupVersion.Group) == trainer.GroupVersion.Group
}

// HasEndCondition reports whether a status tells of an end.
func HasEndCondition(status trainer.TrainJobStatus) bool { return EndCondition(status) != nil }

// EndCondition returns the condition that tells of the end, Complete or Failed, or nil.
func EndCondition(status trainer.TrainJobStatus) *metav1.Condition {
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if c := apimeta.FindStatusCondition(status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
			return c
		}
	}
	return nil
}
