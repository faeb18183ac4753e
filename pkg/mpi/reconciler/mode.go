package reconciler

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// conditions are all that a TrainJob has.
func (m Mode) conditions(trainJob *trainer.TrainJob) []metav1.Condition {
	if m == Companion {
		return job.Conditions(trainJob)
	}
	return job.ConditionsOfOurs(trainJob)
}
