package phase

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

const (
	// keyMadeWithin is how long after the end of a job Kubeflow Trainer may make its key again: a pass that had not seen the end yet makes what
	// is missing.
	keyMadeWithin = 10 * time.Second
	// KeyRecheck is how often we look whether it has, and how long after that time we do for the last time.
	KeyRecheck = 5 * time.Second
)

// KeyMayGo reports whether the key of a job that Kubeflow Trainer has ended can be deleted for good. Trainer 2.3 forgets other failures at the
// beginning of each pass, and makes what is missing.
func (e *End) KeyMayGo() bool { return e.lastingEnd() != nil }

// KeyMayComeBack reports whether a key that has been deleted may be there again, or may still come.
func (e *End) KeyMayComeBack() bool {
	end := e.lastingEnd()
	return end != nil && e.Now.Sub(end.LastTransitionTime.Time) < keyMadeWithin+KeyRecheck
}

func (e *End) lastingEnd() *metav1.Condition {
	if e.HasPublishedCondition(trainer.TrainJobComplete) {
		return e.PublishedCondition(trainer.TrainJobComplete)
	}
	if failed := e.PublishedCondition(trainer.TrainJobFailed); failed != nil && failed.Reason == string(diagnose.DeadlineExceeded) {
		return failed
	}
	return nil
}
