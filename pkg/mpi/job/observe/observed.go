package observe

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// NeedsEvictionReason reports whether a job in a queue has just been stopped, or Kueue stopped it: its Workload may have
// the reason.
func (o Observed) NeedsEvictionReason() bool {
	return o.OwnsJobSet() && o.SuspendWanted() && o.TrainJob.Labels[kueue.QueueLabel] != "" &&
		(!o.HasPublishedCondition(trainer.TrainJobSuspended) || o.IsEvicted())
}

// IsEvicted reports whether the status shows that Kueue stopped the job.
func (o Observed) IsEvicted() bool {
	c := o.PublishedCondition(trainer.TrainJobSuspended)
	return c != nil && c.Status == metav1.ConditionTrue &&
		(c.Reason == string(diagnose.Preempted) || c.Reason == string(diagnose.Evicted))
}

// JobSetOutlivesJob reports whether a job is over and its JobSet is not yet. Its pods tell whether it will be.
func (o Observed) JobSetOutlivesJob() bool {
	return job.IsFinished(o.TrainJob) && o.OwnsJobSet() && !o.JobSetEnded()
}

// Observed is everything that a decision may need, read in one pass.
type Observed struct {
	Now time.Time
	// ControllerNamespace is where mpi-controller runs; the pods of the job admit it.
	ControllerNamespace string
	// Beside is true when Kubeflow Trainer runs the job, and our controller stands beside it.
	Beside bool
	// TrainJob has all its conditions in its status, see status.AllConditions.
	TrainJob *trainer.TrainJob
	// Shown are the conditions that its status has in the cluster.
	Shown []metav1.Condition
	// Runtime is nil when the TrainJob names one that does not exist.
	Runtime *job.Runtime
	// JobSet is the one with the name of the TrainJob, whoever owns it, or nil.
	JobSet *jobset.JobSet
	// Children are the Secret, the ConfigMap, the NetworkPolicies and the PodGroup under our names, whoever owns them. They are
	// read only where phase.Facts.NeedsChildren says so.
	Children []metav1.PartialObjectMetadata
	// ChildJobs are the Jobs under the names that the JobSet gives its Jobs, whoever owns them. They are read with Children as long
	// as JobSet is not ours: JobSet would try again and again to make one whose name is taken.
	ChildJobs []metav1.PartialObjectMetadata
	// Fetches are the Jobs under the names of those that fetch the data of the job, whoever owns them. They are read as long as
	// JobSet is not ours.
	Fetches []batchv1.Job
	// PolicyGone says that the NetworkPolicy of a started job is gone.
	PolicyGone bool
	// NamespaceTerminating says that the namespace is being deleted. It is asked only where the JobSet is gone (JobSetGone): it may go
	// before its TrainJob.
	NamespaceTerminating bool
	// Hostfile is the digest of the runtime that the hostfile's ConfigMap keeps; RestoreRuntime sets it.
	Hostfile string
	// Jobs are those that carry the label of the TrainJob.
	Jobs []metav1.PartialObjectMetadata
	// Pods are those that carry the label of the TrainJob.
	Pods []corev1.Pod
	// Gate is what the push of the host table to the launcher brought; nil while it brought nothing.
	Gate *GateState
	// Bounds are what the namespace lets the job have. They are read as long as JobSet is not ours.
	Bounds NamespaceBounds
	// History is since when facts hold, by the clock of this process; RememberSince sets it.
	History History
	// Eviction is why Kueue stopped the job, or nil. It is read only if NeedsEvictionReason reports so.
	Eviction *kueue.Eviction
	// Wait is what is known of the wait of a suspended job in a queue (kueue.LocalQueue.Wait).
	Wait kueue.QueueWait
	// Warnings are warning events about JobSet, Jobs and pods. They are read only while pods or their addresses are
	// missing, or when a worker was lost and no pod says why.
	Warnings []corev1.Event
}

// GateState is what the launcher's agent said about its wait for the nodes.
type GateState struct {
	// Launcher is the UID of the pod that said it.
	Launcher types.UID
	// Result is nil while the launcher has not answered.
	Result *mpi.GateResult
	// Warnings are what the agents see go wrong since the gate has passed.
	Warnings []mpi.JobWarning
	// Training is the progress of the program, nil if it has reported none.
	Training *mpi.TrainingProgress
	// Error says why the launcher cannot be reached.
	Error string
	// GaveUp says that the controller will not try again: the launcher refused, or there is no usable key.
	GaveUp bool
}

// OwnsJobSet reports whether the JobSet is there and belongs to this TrainJob, so that the job has been started.
func (o Observed) OwnsJobSet() bool {
	return o.JobSet != nil && job.ClaimOf(o.TrainJob, o.JobSet) == job.Own
}

// JobSetFailed returns the JobSet's condition Failed, or nil while it has not failed.
func (o Observed) JobSetFailed() *metav1.Condition {
	return job.TrueCondition(o.JobSet, jobset.JobSetFailed)
}

// JobSetEnded reports whether the JobSet has succeeded or failed.
func (o Observed) JobSetEnded() bool {
	return o.JobSetFailed() != nil || job.TrueCondition(o.JobSet, jobset.JobSetCompleted) != nil
}

// SuspendWanted reports whether the TrainJob asks for suspension.
func (o Observed) SuspendWanted() bool { return ptr.Deref(o.TrainJob.Spec.Suspend, false) }

// NamespaceBounds are what a namespace lets a job have.
type NamespaceBounds struct {
	Quotas []corev1.ResourceQuota
	Limits []corev1.LimitRange
	// Missing is what the pods refer to and what does not exist, in the order of desired.References.
	Missing []job.ObjectReference
}
