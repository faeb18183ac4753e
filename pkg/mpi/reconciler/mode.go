package reconciler

import (
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
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

// jobLabel is by which pods and Jobs of a TrainJob are known. Under Kubeflow Trainer they have JobSet's only.
func (m Mode) jobLabel() string {
	if m == Companion {
		return mpi.JobSetNameLabel
	}
	return mpi.TrainJobLabel
}

// skipsChildren reports whether nothing has to be read any more about a TrainJob that is over, but for the pods of one that is closing.
func (m Mode) skipsChildren(o observe.Observed) bool {
	return m == Executor && job.IsFinished(o.TrainJob)
}
