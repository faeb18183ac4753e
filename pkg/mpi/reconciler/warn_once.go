package reconciler

import (
	"context"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// eventReason is that of an event which no condition repeats.
type eventReason string

const (
	// foreignController: Kubeflow Trainer, or another controller of TrainJobs, runs beside an executor.
	foreignController eventReason = "ForeignController"
	// snapshotChanged: the runtime that a job was made from cannot be told from what the hostfile's ConfigMap keeps.
	snapshotChanged eventReason = "SnapshotChanged"
	// nodesChanged: a TrainJob asks for another number of nodes than its JobSet was made with.
	nodesChanged eventReason = "NodesUnchanged"
	// jobSetSuspended: somebody has suspended the JobSet of a job that runs.
	jobSetSuspended eventReason = "JobSetSuspended"
	// recordDropped: the record of a job's conditions could not be written.
	recordDropped eventReason = "RecordDropped"
	// policyDeleted: somebody has deleted the network policy of a job that is not over.
	policyDeleted eventReason = "NetworkPolicyDeleted"
)

// warnOnce tells of something about a version of an object that it is about, when it has not been told before: a pass finds the
// same again and again.
func (r *Reconciler) warnOnce(ctx context.Context, trainJob *trainer.TrainJob, reason eventReason, about, note string) {
	if !r.cache.isNew(client.ObjectKeyFromObject(trainJob), string(reason), about) {
		return
	}
	ctrl.LoggerFrom(ctx).Info(note)
	r.recorder.Eventf(trainJob, nil, corev1.EventTypeWarning, string(reason), "Reconcile", "%s", status.ClipMessage(note, noteLimit))
}
