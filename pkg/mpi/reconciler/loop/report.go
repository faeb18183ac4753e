package loop

import (
	"context"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
)

// jobReport is what a pass has to say of a TrainJob: all its conditions, and where they are written.
type jobReport struct {
	conditions []metav1.Condition
	// status is what the status becomes; a companion leaves it to Kubeflow Trainer.
	status trainer.TrainJobStatus
	// record is the next value of jobv1.Annotation, dropped if there is no room for it. Moved: the job is in another
	// phase than before.
	record         string
	dropped, moved bool
}

// setRecord encodes a record; nil leaves the earlier one.
func (said *jobReport) setRecord(f *phase.Facts, r *jobv1.Record) {
	said.record = f.TrainJob.Annotations[jobv1.Annotation]
	if r != nil {
		said.record, said.moved = status.EncodeRecord(f.TrainJob, *r), f.Record().Phase != r.Phase
		said.dropped = said.record == ""
	}
}

// reportOf returns what is to be said, and whether any of it is new.
func (r *Reconciler) reportOf(f *phase.Facts, d decide.Decision, applied error) (said jobReport, isNew bool) {
	if r.Mode == Companion {
		ours, record := status.ComputeBeside(f, d, applied)
		said.conditions, said.status = clipMessages(ours), shownStatus(f)
		said.setRecord(f, record)
		return said, said.record != f.TrainJob.Annotations[jobv1.Annotation] ||
			!areToldAlready(f.TrainJob.Status.Conditions, said.conditions)
	}
	var record *jobv1.Record
	said.status, record = status.Compute(f, d, applied)
	said.conditions = clipMessages(said.status.Conditions)
	said.status.Conditions = status.PublishedConditions(said.conditions)
	said.setRecord(f, record)
	return said, said.record != f.TrainJob.Annotations[jobv1.Annotation] || !apiequality.Semantic.DeepEqual(shownStatus(f), said.status)
}

// shownStatus is the status of a TrainJob as it is in the cluster.
func shownStatus(f *phase.Facts) trainer.TrainJobStatus {
	status := f.TrainJob.Status
	status.Conditions = f.Shown
	return status
}

// messageLimit is how much of a condition's message the API server accepts, in bytes (metav1.Condition).
const messageLimit = 32768

func clipMessages(conditions []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		conditions[i].Message = status.ClipMessage(conditions[i].Message, messageLimit)
	}
	return conditions
}

// areToldAlready reports whether all of our conditions stand among those of the TrainJob.
func areToldAlready(before, ours []metav1.Condition) bool {
	return !slices.ContainsFunc(ours, func(c metav1.Condition) bool {
		earlier := apimeta.FindStatusCondition(before, c.Type)
		return earlier == nil || earlier.Status != c.Status || earlier.Reason != c.Reason || earlier.Message != c.Message
	})
}

// reportNews says what is new. Wait is how long news that is not urgent may wait for more; then the job must be looked at again.
func (r *Reconciler) reportNews(ctx context.Context, f *phase.Facts, d decide.Decision, applied error) (wait time.Duration, err error) {
	name := client.ObjectKeyFromObject(f.TrainJob)
	said, isNew := r.reportOf(f, d, applied)
	if !isNew {
		r.cache.dropPendingNews(name)
		return 0, nil
	}
	after := said.status
	after.Conditions = said.conditions
	if limit := status.DebounceDelay(f.TrainJob.Status, after, said.moved); limit > 0 && len(d.Delete) == 0 {
		if wait := r.cache.debounceFor(name, f.Now, limit, settledVersion(after, limit)); wait > 0 {
			return wait, nil
		}
	}
	r.cache.dropPendingNews(name)
	// Where the TrainJob was deleted meanwhile there is nobody to tell.
	return 0, client.IgnoreNotFound(r.writeReport(ctx, f, said))
}

// settledVersion is the version of news that is told when it has not changed for as long as it may wait: while the pods of a job start, one by
// one, counts of child Jobs are old before they are written.
func settledVersion(after trainer.TrainJobStatus, limit time.Duration) string {
	if limit < status.DebounceCounts {
		return ""
	}
	return dump.ForHash(after.JobsStatus)
}

// writeReport writes the status, publishes what has changed, and then writes the record, which nothing waits for.
func (r *Reconciler) writeReport(ctx context.Context, f *phase.Facts, said jobReport) error {
	if changes := statusChanges(shownStatus(f), said.status); len(changes) > 0 {
		if err := r.patchStatus(ctx, f, changes); err != nil {
			return err
		}
	}
	changes := status.NewOrChanged(f.TrainJob.Status.Conditions, said.conditions)
	if r.Mode == Executor {
		r.cache.notePublished(f.TrainJob, said.conditions)
	} else { // whose record may not have been written
		changes = slices.DeleteFunc(changes, func(c metav1.Condition) bool {
			return !r.cache.isNew(client.ObjectKeyFromObject(f.TrainJob), c.Type, string(c.Status)+c.Reason)
		})
	}
	r.publishChanges(ctx, f, said, changes)
	return r.writeRecord(ctx, f, said)
}

// writeRecord writes the record and the label. A record that does not fit, or that the API server refuses, is dropped
// with an event.
func (r *Reconciler) writeRecord(ctx context.Context, f *phase.Facts, said jobReport) error {
	var err error
	if said.record != f.TrainJob.Annotations[jobv1.Annotation] || !hasJobLabel(f.TrainJob) {
		err = r.patchRecord(ctx, f.TrainJob, said.record)
	}
	why := "the other annotations leave no room for it in the 256 KiB of an object"
	switch {
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err),
		apierrors.IsRequestEntityTooLargeError(err):
		why = "the API server refuses it: " + err.Error()
	case err != nil || !said.dropped:
		return err
	}
	r.warnOnce(ctx, f.TrainJob, events.RecordDropped, "", "annotation "+jobv1.Annotation+
		", which shows how far the job has come, was not written: "+why+". The job itself is not affected. Remove "+
		"large annotations; `kubectl apply --server-side` leaves out the one that holds the whole manifest")
	return nil
}

// publishChanges passes on what is new.
func (r *Reconciler) publishChanges(ctx context.Context, f *phase.Facts, said jobReport, changes []metav1.Condition) {
	changes = status.WithMissedSteps(f, changes)
	r.Events.Send(f.TrainJob, changes)
	r.Metrics.RecordChanges(f, changes)
	r.logEnd(ctx, f, said, changes)
}
