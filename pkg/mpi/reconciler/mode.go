package reconciler

import (
	"context"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// Mode is who runs TrainJobs.
type Mode string

// The modes.
const (
	// Executor runs the TrainJobs of MPI runtimes itself. No other controller may run TrainJobs in the cluster.
	Executor Mode = "executor"
	// Companion stands beside Kubeflow Trainer, which runs them, and adds what it lacks.
	Companion Mode = "companion"
)

// Modes lists them.
func Modes() []Mode { return []Mode{Executor, Companion} }

// label is by which pods and Jobs of a TrainJob are known. Under Kubeflow Trainer they have JobSet's only.
func (m Mode) label() string {
	if m == Companion {
		return mpi.JobSetNameLabel
	}
	return mpi.TrainJobLabel
}

func (m Mode) needsChildren(o job.Observed) bool {
	if m == Companion {
		return o.NeedsChildrenBeside()
	}
	return o.NeedsChildren()
}

// needsBounds says whether quotas and limits matter: before the first pod and when a job is resumed, or where Kubeflow Trainer's pods do not come.
func (m Mode) needsBounds(o job.Observed) bool {
	if m == Companion {
		return o.MissingPods()
	}
	return !o.Owns() || o.Resuming()
}

// done says whether nothing has to be read any more about a TrainJob that is over, but for the pods of one that is closing.
func (m Mode) done(o job.Observed) bool { return m == Executor && job.Over(o.TrainJob) }

func (r *Reconciler) decide(o job.Observed) (job.Decision, error) {
	if r.mode == Companion {
		return job.Accompany(o), nil
	}
	return job.Decide(o, r.random)
}

// report writes the status if it changed, and tells of the change only when that succeeded. Wait is how long news that is not
// urgent may wait for more; then the job must be looked at again.
func (r *Reconciler) report(ctx context.Context, o job.Observed, d job.Decision, applied error) (wait time.Duration, err error) {
	name, before := client.ObjectKeyFromObject(o.TrainJob), o.TrainJob.Status
	after, ours := before, []metav1.Condition(nil)
	if r.mode == Companion {
		ours = job.Beside(o, d, applied)
		after.Conditions = ours
	} else {
		after = job.Status(o, d, applied)
	}
	for i := range after.Conditions {
		after.Conditions[i].Message = clipped(after.Conditions[i].Message, messageLimit)
	}
	if r.mode == Executor && apiequality.Semantic.DeepEqual(before, after) || r.mode == Companion && told(before.Conditions, ours) {
		r.memory.told(name)
		return 0, nil
	}
	if patience := job.Patience(before, after); patience > 0 && len(d.Delete) == 0 {
		if wait := r.memory.wait(name, o.Now, patience, settled(after, patience)); wait > 0 {
			return wait, nil
		}
	}
	r.memory.told(name)
	if r.mode == Companion {
		return 0, r.write(ctx, o, conditionChanges(before, ours), ours)
	}
	return 0, r.write(ctx, o, statusChanges(before, after), after.Conditions)
}

// settled is the version of news that is told when it has not changed for its patience: while the pods of a job start, one by
// one, counts of child Jobs are old before they are written.
func settled(status trainer.TrainJobStatus, patience time.Duration) string {
	if patience < job.Counting {
		return ""
	}
	return dump.ForHash(status.JobsStatus)
}

// told says whether all of our conditions stand among those of the TrainJob.
func told(before, ours []metav1.Condition) bool {
	for _, condition := range ours {
		if i := indexOf(before, condition.Type); i < 0 || !same(before[i], condition) {
			return false
		}
	}
	return true
}
