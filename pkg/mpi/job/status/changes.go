package status

import (
	"cmp"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// NewOrChanged returns the conditions with another status or another reason than before, in the order of a job's life.
func NewOrChanged(before, after []metav1.Condition) []metav1.Condition {
	var changes []metav1.Condition
	for _, condition := range after {
		earlier := apimeta.FindStatusCondition(before, condition.Type)
		if earlier == nil || earlier.Status != condition.Status || earlier.Reason != condition.Reason {
			changes = append(changes, condition)
		}
	}
	slices.SortStableFunc(changes, func(a, b metav1.Condition) int {
		return cmp.Compare(slices.Index(job.ConditionOrder, a.Type), slices.Index(job.ConditionOrder, b.Type))
	})
	return changes
}

// WithMissedSteps adds to what has changed in a status the steps that went by between two of them, so that jobs that did the same
// have the same events and are counted the same, however fast they are and however late we look.
func WithMissedSteps(f *phase.Facts, changes []metav1.Condition) []metav1.Condition {
	return withMissedGangStep(f.TrainJob, withMissedRunStep(f, changes))
}

// withMissedGangStep adds that all pods are being scheduled together where a job had them so soon that no status told of it: after what a
// status says of its objects, or, beside Kubeflow Trainer, which has no word for that, before the first that one says of its pods.
func withMissedGangStep(trainJob *trainer.TrainJob, changes []metav1.Condition) []metav1.Condition {
	pending := func(c metav1.Condition) bool { return mpi.Reason(c.Reason) == job.ReasonPodsPending }
	at := indexOfGangStep(trainJob, changes)
	if at < 0 || ptr.Deref(trainJob.Spec.Suspend, false) || slices.ContainsFunc(changes, pending) {
		return changes
	}
	gang := metav1.Condition{Type: job.PodsReady, Status: metav1.ConditionFalse, Reason: string(job.ReasonPodsPending), Message: "all pods of the job were created together"}
	return slices.Insert(slices.Clone(changes), at, gang)
}

// indexOfGangStep returns where in the changes that belongs, -1 if nowhere.
func indexOfGangStep(trainJob *trainer.TrainJob, changes []metav1.Condition) int {
	created := slices.IndexFunc(changes, func(c metav1.Condition) bool { return mpi.Reason(c.Reason) == job.ReasonJobSetCreated })
	switch {
	case created >= 0:
		return created + 1
	case apimeta.FindStatusCondition(trainJob.Status.Conditions, job.PodsReady) != nil:
		return -1
	}
	return slices.IndexFunc(changes, func(c metav1.Condition) bool { return c.Type == job.PodsReady && c.Status == metav1.ConditionTrue })
}

// withMissedRunStep adds that the pods were ready and that the command ran where a job was over before a status told of it.
func withMissedRunStep(f *phase.Facts, changes []metav1.Condition) []metav1.Condition {
	before := f.TrainJob.Status.Conditions
	at := slices.IndexFunc(changes, func(c metav1.Condition) bool { return IsEndOfJob(f.TrainJob, c) })
	if at < 0 || apimeta.IsStatusConditionTrue(before, job.Running) || !isCompletion(f.TrainJob, changes[at]) && !f.Run.HasCommandStarted() {
		return changes
	}
	steps := []metav1.Condition{{Type: job.Running, Status: metav1.ConditionTrue, Reason: string(job.ReasonGatePassed), Message: "the command ran"}}
	if !apimeta.IsStatusConditionTrue(before, job.PodsReady) {
		ready := metav1.Condition{Type: job.PodsReady, Status: metav1.ConditionTrue, Reason: string(job.ReasonPodsReady), Message: "all pods were ready"}
		steps = slices.Insert(steps, 0, ready)
	}
	return slices.Insert(slices.Clone(changes), at, steps...)
}

// IsEndOfJob reports whether a change tells of the end of a job; Diagnosed is what a companion has to say of one that failed.
func IsEndOfJob(trainJob *trainer.TrainJob, change metav1.Condition) bool {
	failed := change.Status == metav1.ConditionTrue && (change.Type == trainer.TrainJobFailed || change.Type == job.Diagnosed)
	return failed || isCompletion(trainJob, change)
}

func isCompletion(trainJob *trainer.TrainJob, change metav1.Condition) bool {
	return change.Status == metav1.ConditionTrue && change.Type == trainer.TrainJobComplete || IsCompletionBesideTrainer(trainJob, change)
}

// IsCompletionBesideTrainer reports whether a companion tells of the end of a job that Kubeflow Trainer has called complete.
func IsCompletionBesideTrainer(trainJob *trainer.TrainJob, change metav1.Condition) bool {
	return change.Type == job.Running && mpi.Reason(change.Reason) == job.ReasonFinished &&
		apimeta.IsStatusConditionTrue(trainJob.Status.Conditions, trainer.TrainJobComplete)
}
