package status

import (
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// RestoredConditions returns the conditions of a TrainJob for an executor that has just started and remembers
// nothing. They follow from what users cannot write: the status, and the JobSet of the job, nil without one. The
// record adds only what decides nothing: since when the command runs, that the job was resumed, and why it was
// restarted.
func RestoredConditions(trainJob *trainer.TrainJob, jobSet *jobset.JobSet, now time.Time) []metav1.Condition {
	if jobSet != nil && job.ClaimOf(trainJob, jobSet) != job.Own {
		jobSet = nil
	}
	shown := trainJob.Status.Conditions
	if job.IsFinished(trainJob) || len(shown) > 1 || len(shown) == 0 && len(trainJob.Status.JobsStatus) == 0 {
		return shown
	}
	recorded, _ := parseRecord(trainJob)
	requested := restoredRequest(trainJob, jobSet, now)
	all := conditionsBehindStatus(trainJob, jobSet, runningSince(recorded, requested, now))
	if apimeta.FindStatusCondition(all, trainer.TrainJobSuspended) == nil {
		all = append(all, pastSuspension(trainJob, requested, recorded)...)
	}
	if jobSet != nil && job.AttemptOf(jobSet) > 0 && apimeta.FindStatusCondition(all, job.Restarting) == nil {
		all = append(all, pastRestart(jobSet, recorded))
	}
	return all
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
	return now
}

// runningSince returns since when the command of a job runs according to its record, which is only shown.
func runningSince(recorded []metav1.Condition, requested, now time.Time) time.Time {
	c := apimeta.FindStatusCondition(recorded, job.Running)
	if c == nil || c.LastTransitionTime.Time.Before(requested) || c.LastTransitionTime.After(now) {
		return now
	}
	return c.LastTransitionTime.Time
}

// conditionsBehindStatus returns the conditions of a job whose status shows one of them, or none because the command
// runs.
func conditionsBehindStatus(trainJob *trainer.TrainJob, jobSet *jobset.JobSet, running time.Time) []metav1.Condition {
	if len(trainJob.Status.Conditions) == 0 {
		since := metav1.Condition{ObservedGeneration: trainJob.Generation, LastTransitionTime: metav1.NewTime(running)}
		return []metav1.Condition{
			conditionLike(since, job.Created, true, job.ReasonJobSetCreated, allExist),
			conditionLike(since, job.PodsReady, true, job.ReasonPodsReady, ""),
			conditionLike(since, job.Running, true, job.ReasonGatePassed, commandRuns),
		}
	}
	shown := trainJob.Status.Conditions[0]
	made := jobSet != nil || len(trainJob.Status.JobsStatus) > 0
	switch {
	case shown.Type == job.Restarting && shown.Status == metav1.ConditionTrue:
		return append(waitingConditions(shown, job.ReasonRestarting, job.ReasonRestarting), shown)
	case shown.Type == job.Created && jobSet != nil && job.IsSuspended(jobSet):
		return waitingConditions(shown, mpi.Reason(shown.Reason), job.ReasonSuspended)
	case shown.Type == job.Created && made && mpi.Reason(shown.Reason) != job.ReasonJobSetCreated:
		return waitingConditions(shown, mpi.Reason(shown.Reason), job.ReasonWaitingForPods)
	}
	return impliedConditions(trainJob.Status.Conditions)
}

// pastSuspension returns the condition of a job that was resumed, if it was: its record shows that, or that it was
// requested long after it was created.
func pastSuspension(trainJob *trainer.TrainJob, requested time.Time, recorded []metav1.Condition) []metav1.Condition {
	if requested.Sub(trainJob.CreationTimestamp.Time) < observe.ClocksApart {
		return nil
	}
	since := metav1.Condition{ObservedGeneration: trainJob.Generation, LastTransitionTime: metav1.NewTime(requested)}
	return []metav1.Condition{conditionLike(since, trainer.TrainJobSuspended, false, job.ReasonResumed, isResumed)}
}

// pastRestart returns the condition of the restart after which a JobSet was made, with its recorded cause.
func pastRestart(jobSet *jobset.JobSet, recorded []metav1.Condition) metav1.Condition {
	number := job.AttemptOf(jobSet)
	message := fmt.Sprintf(observe.RestartFormat, number, number)
	if known, _ := observe.ParsePublishedRestarts(recorded); known == number {
		message = job.MessageOf(recorded, job.Restarting)
	}
	since := metav1.Condition{LastTransitionTime: jobSet.CreationTimestamp}
	return conditionLike(since, job.Restarting, false, job.ReasonRestarted, message)
}
