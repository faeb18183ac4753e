package status

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// RestoredConditions returns the conditions of a TrainJob for an executor that has just started and remembers
// nothing. They follow from what users cannot write: the status, and the JobSet of the job, nil without one. The
// record adds only what decides nothing: since when the command runs, and why the job was restarted.
func RestoredConditions(trainJob *trainer.TrainJob, jobSet *jobset.JobSet, now time.Time) []metav1.Condition {
	if jobSet != nil && job.ClaimOf(trainJob, jobSet) != job.Own {
		jobSet = nil
	}
	shown := trainJob.Status.Conditions
	if job.IsFinished(trainJob) || len(shown) > 1 || len(shown) == 0 && len(trainJob.Status.JobsStatus) == 0 {
		return shown
	}
	record, _ := jobv1.Read(trainJob.Annotations, trainJob.UID)
	recorded := record.Conditions
	requested := restoredRequest(trainJob, jobSet, now)
	past := metav1.Condition{ObservedGeneration: trainJob.Generation, LastTransitionTime: metav1.NewTime(now)}
	c := apimeta.FindStatusCondition(recorded, job.Running)
	if c != nil && !c.LastTransitionTime.Time.Before(requested) && !c.LastTransitionTime.After(now) {
		past.LastTransitionTime = c.LastTransitionTime
	}
	all := conditionsBehindStatus(trainJob, jobSet, past)
	if apimeta.FindStatusCondition(all, trainer.TrainJobSuspended) == nil &&
		requested.Sub(trainJob.CreationTimestamp.Time) >= observe.ClocksApart {
		past.LastTransitionTime = metav1.NewTime(requested)
		all = append(all, conditionLike(past, trainer.TrainJobSuspended, false, job.ReasonResumed, isResumed))
	}
	if jobSet == nil || job.AttemptOf(jobSet) == 0 || apimeta.FindStatusCondition(all, job.Restarting) != nil {
		return all
	}
	number := job.AttemptOf(jobSet)
	message := fmt.Sprintf(observe.RestartFormat, number, number)
	if r := record.Restarts; r != nil && r.Number == number {
		message = job.MessageOf(recorded, job.Restarting)
	}
	past.LastTransitionTime = jobSet.CreationTimestamp
	return append(all, conditionLike(past, job.Restarting, false, job.ReasonRestarted, message))
}

// restoredRequest returns when a job was created or resumed, or a later time if that is lost.
func restoredRequest(trainJob *trainer.TrainJob, jobSet *jobset.JobSet, now time.Time) time.Time {
	if jobSet != nil && !job.IsSuspended(jobSet) {
		if at, err := time.Parse(time.RFC3339, jobSet.Annotations[job.RequestedAnnotation]); err == nil {
			return at
		}
	}
	if shown := trainJob.Status.Conditions; len(shown) == 1 {
		return shown[0].LastTransitionTime.Time
	}
	if jobSet != nil && !job.IsSuspended(jobSet) { // made by an earlier version
		return phase.RunStartOf(jobSet)
	}
	return now
}

// conditionsBehindStatus returns the conditions of a job whose status shows one of them, or none because the command
// runs, with the times of another condition.
func conditionsBehindStatus(trainJob *trainer.TrainJob, js *jobset.JobSet, run metav1.Condition) []metav1.Condition {
	if len(trainJob.Status.Conditions) == 0 {
		return []metav1.Condition{
			conditionLike(run, job.Created, true, job.ReasonJobSetCreated, allExist),
			conditionLike(run, job.PodsReady, true, job.ReasonPodsReady, ""),
			conditionLike(run, job.Running, true, job.ReasonGatePassed, commandRuns),
		}
	}
	shown := trainJob.Status.Conditions[0]
	made := js != nil || len(trainJob.Status.JobsStatus) > 0
	switch {
	case shown.Type == job.Restarting && shown.Status == metav1.ConditionTrue:
		return append(waitingConditions(shown, job.ReasonRestarting, job.ReasonRestarting), shown)
	case shown.Type == job.Created && js != nil && job.IsSuspended(js):
		return waitingConditions(shown, mpi.Reason(shown.Reason), job.ReasonSuspended)
	case shown.Type == job.Created && made && mpi.Reason(shown.Reason) != job.ReasonJobSetCreated:
		return waitingConditions(shown, mpi.Reason(shown.Reason), job.ReasonWaitingForPods)
	}
	return impliedConditions(trainJob.Status.Conditions)
}
