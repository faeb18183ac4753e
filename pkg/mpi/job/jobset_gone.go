package job

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// JobSetGone says whether the job had a JobSet, which is gone or going, and not because of us: before we delete one that is to be made
// again, the status says so (mayRecreate). Somebody else deleted it, and the run is lost. To make it again would run the job a second
// time from its beginning, which nobody has asked for. A job that is suspended, is to be, or waits to be resumed has nothing to lose:
// its JobSet is made again.
func (o Observed) JobSetGone() bool {
	going := o.Owns() && o.JobSet.DeletionTimestamp != nil && !o.jobSetEnded()
	made := apimeta.IsStatusConditionTrue(o.TrainJob.Status.Conditions, Created)
	return made && !o.suspendWanted() && !o.mayRecreate() && (going || o.JobSet == nil)
}

// mayRecreate says whether the status tells that the job has no pods for now, so that its JobSet may go and come again.
func (o Observed) mayRecreate() bool {
	conditions := o.TrainJob.Status.Conditions
	running := apimeta.FindStatusCondition(conditions, Running)
	return apimeta.IsStatusConditionTrue(conditions, Restarting) || running == nil || running.Status == metav1.ConditionFalse &&
		(running.Reason == string(ReasonSuspended) || running.Reason == string(ReasonRestarting))
}

// deleted is the end of a job whose JobSet is gone. Whatever its runtime allows, it is not restarted: what a person has taken away is no
// fault of the infrastructure.
func (o Observed) deleted() Decision {
	remedy, _ := diagnose.EntryOf(diagnose.JobSetDeleted)
	message := fmt.Sprintf("JobSet `%s` was deleted while the job ran, and not by %s: its pods are gone with it. What to do: %s",
		o.TrainJob.Name, mpi.ControllerName, remedy.Remedy)
	return Decision{Ours: true, Delete: o.keys(), end: &end{reason: diagnose.JobSetDeleted, message: message, stop: true}}
}

// recreate deletes a JobSet that is to be made again, once the status tells of it: one that is gone otherwise was deleted by somebody.
func (o Observed) recreate() Decision {
	if !o.mayRecreate() {
		return Decision{Ours: true, RequeueAfter: causeMissing}
	}
	return Decision{Ours: true, Delete: []Deletion{deletion(jobSetType(), o.JobSet)}, RequeueAfter: leftoversGone}
}

// beingRecreated says whether the JobSet is one of ours that is to be made again.
func (o Observed) beingRecreated() bool {
	return o.Owns() && o.JobSet.Labels[mpi.TrainJobLabel] != "" && o.condemned()
}

// SuspendedByHand says whether somebody has suspended the JobSet of a job that runs, and not the TrainJob. The job goes on from its
// beginning, as with Kubeflow Trainer: spec.suspend of the TrainJob is what counts.
func (o Observed) SuspendedByHand() bool {
	return o.Owns() && suspended(o.JobSet) && !o.suspendWanted() && !o.jobSetEnded() &&
		apimeta.IsStatusConditionTrue(o.TrainJob.Status.Conditions, Running)
}

// suspensionPending says whether the JobSet is suspended with pods that JobSet has not stopped yet. It is resumed after that: some of its
// pods would be gone and others not, and nothing would say that it was suspended.
func (o Observed) suspensionPending() bool {
	return suspended(o.JobSet) && !o.suspendWanted() && jobSetCondition(o.JobSet, jobset.JobSetSuspended) == nil && len(o.all()) > 0
}

// stopping says whether the JobSet is suspended, or has not yet said that it is no more: what becomes of its pods is its own doing.
func (o Observed) stopping() bool {
	return suspended(o.JobSet) || jobSetCondition(o.JobSet, jobset.JobSetSuspended) != nil
}

// LosesPods reports whether somebody seems to have deleted pods of a job that goes on, of which its status does not tell yet. The JobSet
// may have been suspended: its watch may bring that later than the watch of pods brings what it has led to.
func (o Observed) LosesPods() bool {
	if !slices.ContainsFunc(o.Pods, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }) {
		return false // as in nearly every pass, of jobs that may have thousands of pods
	}
	if !o.Owns() || o.jobSetEnded() || len(o.noted()) > 0 {
		return false
	}
	lost := o.lost()
	return lost != nil && lost.Reason == diagnose.PodDeleted
}
