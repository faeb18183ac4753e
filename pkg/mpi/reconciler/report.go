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
)

// report is what a pass has to say of a TrainJob: all its conditions, and where they are written.
type report struct {
	conditions []metav1.Condition
	// status is what the status becomes; a companion leaves it to Kubeflow Trainer.
	status trainer.TrainJobStatus
	// record is what job.RecordAnnotation becomes.
	record string
}

// over says whether a job comes to its end. One that had nothing to record before gets its label now: it had fewer writes than others.
func (said report) over() bool { return job.Over(&trainer.TrainJob{Status: said.status}) }

// reportOf returns what is to be said, and whether any of it is new.
func (r *Reconciler) reportOf(o job.Observed, d job.Decision, applied error) (said report, isNew bool) {
	if r.mode == Companion {
		said.conditions, said.status = clip(job.Beside(o, d, applied)), shown(o)
		if told(o.TrainJob.Status.Conditions, said.conditions) {
			return said, false
		}
		said.record = job.RecordBeside(o.TrainJob, said.conditions)
		return said, true
	}
	said.status = job.Status(o, d, applied)
	said.conditions = clip(said.status.Conditions)
	said.status.Conditions, said.record = job.Published(said.conditions), job.Record(o.TrainJob, said.conditions)
	return said, said.record != o.TrainJob.Annotations[job.RecordAnnotation] || !apiequality.Semantic.DeepEqual(shown(o), said.status)
}

// shown is the status of a TrainJob as it is in the cluster.
func shown(o job.Observed) trainer.TrainJobStatus {
	status := o.TrainJob.Status
	status.Conditions = o.Shown
	return status
}

func clip(conditions []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		conditions[i].Message = job.Clipped(conditions[i].Message, messageLimit)
	}
	return conditions
}

// told says whether all of our conditions stand among those of the TrainJob.
func told(before, ours []metav1.Condition) bool {
	return !slices.ContainsFunc(ours, func(c metav1.Condition) bool {
		earlier := apimeta.FindStatusCondition(before, c.Type)
		return earlier == nil || earlier.Status != c.Status || earlier.Reason != c.Reason || earlier.Message != c.Message
	})
}

// report says what is new. Wait is how long news that is not urgent may wait for more; then the job must be looked at again.
func (r *Reconciler) report(ctx context.Context, o job.Observed, d job.Decision, applied error) (wait time.Duration, err error) {
	name := client.ObjectKeyFromObject(o.TrainJob)
	said, isNew := r.reportOf(o, d, applied)
	if !isNew {
		r.memory.told(name)
		return 0, nil
	}
	after := said.status
	after.Conditions = said.conditions
	if patience := job.Patience(o.TrainJob.Status, after); patience > 0 && len(d.Delete) == 0 {
		if wait := r.memory.wait(name, o.Now, patience, settled(after, patience)); wait > 0 {
			return wait, nil
		}
	}
	r.memory.told(name)
	// Where the TrainJob was deleted meanwhile there is nobody to tell.
	return 0, client.IgnoreNotFound(r.write(ctx, o, said))
}

// settled is the version of news that is told when it has not changed for its patience: while the pods of a job start, one by
// one, counts of child Jobs are old before they are written.
func settled(status trainer.TrainJobStatus, patience time.Duration) string {
	if patience < job.Counting {
		return ""
	}
	return dump.ForHash(status.JobsStatus)
}

// write writes the record and then the status, and tells of the changes in each only when it is written.
func (r *Reconciler) write(ctx context.Context, o job.Observed, said report) error {
	before := o.TrainJob.Status.Conditions
	isNew := said.record != o.TrainJob.Annotations[job.RecordAnnotation]
	if isNew || said.over() && !labelled(o.TrainJob) {
		if err := r.patchRecord(ctx, o.TrainJob, said.record); err != nil {
			return err
		}
	}
	if isNew {
		recorded := said.conditions
		if r.mode == Executor {
			recorded = job.Recorded(recorded)
		}
		r.tell(o, transitions(before, recorded))
		before = recorded
	}
	changes := statusChanges(shown(o), said.status)
	if len(changes) == 0 {
		return nil
	}
	if err := r.patchStatus(ctx, o, changes); err != nil {
		return err
	}
	r.tell(o, transitions(before, said.conditions))
	return nil
}

// tell passes on what is new.
func (r *Reconciler) tell(observed job.Observed, changes []metav1.Condition) {
	changes = withSteps(observed, changes)
	r.announce(observed.TrainJob, changes)
	r.metrics.record(observed, changes)
}
