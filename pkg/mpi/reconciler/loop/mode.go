package loop

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// JobLabel is by which pods and Jobs of a TrainJob are known. Under Kubeflow Trainer they have JobSet's only.
func (m Mode) JobLabel() string {
	if m == Companion {
		return mpi.JobSetNameLabel
	}
	return mpi.TrainJobLabel
}

// skipsChildren reports whether nothing has to be read any more about a TrainJob that is over, but for the pods of one that is closing.
func (m Mode) skipsChildren(o observe.Observed) bool {
	return m == Executor && job.IsFinished(o.TrainJob)
}

// TrainJobIndex finds Jobs and pods by the name of their TrainJob.
const TrainJobIndex = "lockstep.trainjob"

// IndexTrainJob returns the function of that index.
func IndexTrainJob(mode Mode) client.IndexerFunc {
	return func(object client.Object) []string { return []string{object.GetLabels()[mode.JobLabel()]} }
}
