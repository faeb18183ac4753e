package events

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// Reason is that of an event which no condition repeats.
type Reason string

// The reasons.
const (
	// ForeignController: Kubeflow Trainer, or another controller of TrainJobs, runs beside an executor.
	ForeignController Reason = "ForeignController"
	// SnapshotChanged: the runtime that a job was made from cannot be told from what the hostfile's ConfigMap keeps.
	SnapshotChanged Reason = "SnapshotChanged"
	// NodesChanged: a TrainJob asks for another number of nodes than its JobSet was made with.
	NodesChanged Reason = "NodesUnchanged"
	// JobSetSuspended: somebody has suspended the JobSet of a job that runs.
	JobSetSuspended Reason = "JobSetSuspended"
	// RecordDropped: the record of a job's conditions could not be written.
	RecordDropped Reason = "RecordDropped"
	// PolicyDeleted: somebody has deleted the network policy of a job that is not over.
	PolicyDeleted Reason = "NetworkPolicyDeleted"
	// ArtifactsNotCopied: the artifacts of a job that has ended could not be copied.
	ArtifactsNotCopied Reason = "ArtifactsNotCopied"
)

// Warn sends a warning about a TrainJob.
func (r *Recorder) Warn(trainJob *trainer.TrainJob, reason Reason, note string) {
	r.Eventf(trainJob, nil, corev1.EventTypeWarning, string(reason), "Reconcile", "%s", status.ClipMessage(note, noteLimit))
}

// PodWarning tells people who look at the controller's pod why it does nothing.
type PodWarning struct {
	Sink                Sink
	Namespace, Identity string
	// posted is the note of the last event: the same one is not sent again.
	posted string
}

// PostOnce sends an event about another controller of TrainJobs.
func (n *PodWarning) PostOnce(ctx context.Context, why error) {
	if why.Error() == n.posted {
		return
	}
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: n.Namespace, GenerateName: mpi.ControllerName + "-"},
		EventTime:           metav1.NowMicro(),
		ReportingController: mpi.ControllerName,
		ReportingInstance:   cmp.Or(n.Identity, mpi.ControllerName),
		Regarding:           corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: n.Namespace, Name: cmp.Or(n.Identity, mpi.ControllerName)},
		Type:                corev1.EventTypeWarning, Reason: string(ForeignController), Action: "Start", Note: why.Error(),
	}
	if _, err := n.Sink.Create(ctx, event); err != nil {
		ctrl.Log.V(1).Info("cannot send an event", "reason", err.Error())
		return
	}
	n.posted = why.Error()
}
