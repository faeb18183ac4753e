package reconciler

import (
	"context"
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// report is what a pass has to say of a TrainJob: all its conditions, and where they are written.
type report struct {
	conditions []metav1.Condition
	// status is what the status becomes; a companion leaves it to Kubeflow Trainer.
	status trainer.TrainJobStatus
	// record is what job.RecordAnnotation becomes.
	record string
}

// needsLabel reports whether a job must be known as ours though nothing may be recorded of it: it is over, or something keeps it from being
// made. It had fewer writes than others.
func (said report) needsLabel() bool {
	return job.Finished(&trainer.TrainJob{Status: said.status}) || apimeta.IsStatusConditionFalse(said.conditions, job.Created)
}

// reportOf returns what is to be said, and whether any of it is new.
func (r *Reconciler) reportOf(f *phase.Facts, d decide.Decision, applied error) (said report, isNew bool) {
	if r.mode == Companion {
		said.conditions, said.status = clip(status.CompanionConditions(f, d, applied)), shown(f)
		if told(f.TrainJob.Status.Conditions, said.conditions) {
			return said, false
		}
		said.record = status.RecordCompanion(f.TrainJob, said.conditions)
		return said, true
	}
	said.status = status.Compute(f, d, applied)
	said.conditions = clip(said.status.Conditions)
	said.status.Conditions, said.record = status.Published(said.conditions), status.Record(f.TrainJob, said.conditions)
	return said, said.record != f.TrainJob.Annotations[status.RecordAnnotation] || !apiequality.Semantic.DeepEqual(shown(f), said.status)
}

// shown is the status of a TrainJob as it is in the cluster.
func shown(f *phase.Facts) trainer.TrainJobStatus {
	status := f.TrainJob.Status
	status.Conditions = f.Shown
	return status
}

func clip(conditions []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		conditions[i].Message = status.ClipMessage(conditions[i].Message, messageLimit)
	}
	return conditions
}

// told reports whether all of our conditions stand among those of the TrainJob.
func told(before, ours []metav1.Condition) bool {
	return !slices.ContainsFunc(ours, func(c metav1.Condition) bool {
		earlier := apimeta.FindStatusCondition(before, c.Type)
		return earlier == nil || earlier.Status != c.Status || earlier.Reason != c.Reason || earlier.Message != c.Message
	})
}

// report says what is new. Wait is how long news that is not urgent may wait for more; then the job must be looked at again.
func (r *Reconciler) report(ctx context.Context, f *phase.Facts, d decide.Decision, applied error) (wait time.Duration, err error) {
	name := client.ObjectKeyFromObject(f.TrainJob)
	said, isNew := r.reportOf(f, d, applied)
	if !isNew {
		r.cache.dropPending(name)
		return 0, nil
	}
	after := said.status
	after.Conditions = said.conditions
	if limit := status.Debounce(f.TrainJob.Status, after); limit > 0 && len(d.Delete) == 0 {
		if wait := r.cache.debounce(name, f.Now, limit, settled(after, limit)); wait > 0 {
			return wait, nil
		}
	}
	r.cache.dropPending(name)
	// Where the TrainJob was deleted meanwhile there is nobody to tell.
	return 0, client.IgnoreNotFound(r.write(ctx, f, said))
}

// settled is the version of news that is told when it has not changed for as long as it may wait: while the pods of a job start, one by
// one, counts of child Jobs are old before they are written.
func settled(after trainer.TrainJobStatus, limit time.Duration) string {
	if limit < status.DebounceCounts {
		return ""
	}
	return dump.ForHash(after.JobsStatus)
}

// write writes the record and then the status, and tells of the changes in each only when it is written.
func (r *Reconciler) write(ctx context.Context, f *phase.Facts, said report) error {
	before := f.TrainJob.Status.Conditions
	isNew := said.record != f.TrainJob.Annotations[status.RecordAnnotation]
	if isNew || said.needsLabel() && !labelled(f.TrainJob) {
		if err := r.patchRecord(ctx, f.TrainJob, said.record); err != nil {
			return err
		}
	}
	if isNew {
		recorded := said.conditions
		if r.mode == Executor {
			recorded = status.Recorded(recorded)
		}
		r.publish(ctx, f, said, transitions(before, recorded))
		before = recorded
	}
	changes := statusChanges(shown(f), said.status)
	if len(changes) == 0 {
		return nil
	}
	if err := r.patchStatus(ctx, f, changes); err != nil {
		return err
	}
	r.publish(ctx, f, said, transitions(before, said.conditions))
	return nil
}

// publish passes on what is new.
func (r *Reconciler) publish(ctx context.Context, f *phase.Facts, said report, changes []metav1.Condition) {
	changes = withSteps(f, changes)
	r.announce(f.TrainJob, changes)
	r.metrics.record(f, changes)
	r.logEnd(ctx, f, said, changes)
}
