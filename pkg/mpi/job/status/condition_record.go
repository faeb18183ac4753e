package status

import (
	"cmp"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// PublishedConditions returns what the status of a TrainJob shows of its conditions: one at most, and none of a job that runs, as under Kubeflow Trainer.
// Clients of Kubeflow's API know few. The SDK (0.5.0) takes a TrainJob with any condition but Complete and Failed for one that does not run yet,
// OpenShift AI's dashboard goes by the newest that is true and knows none beyond these, and kubectl's column STATE is the type of the last one.
//
//	Created     the job does not run yet, and the message says what it waits for
//	Suspended   a user or a queue holds it back
//	Restarting  it is being started again
//	Complete    the launcher succeeded
//	Failed      the job failed, and the message says why
func PublishedConditions(all []metav1.Condition) []metav1.Condition {
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed, trainer.TrainJobSuspended, job.Restarting} {
		if apimeta.IsStatusConditionTrue(all, kind) {
			return []metav1.Condition{*apimeta.FindStatusCondition(all, kind)}
		}
	}
	created := apimeta.FindStatusCondition(all, job.Created)
	if created == nil || apimeta.IsStatusConditionTrue(all, job.Running) {
		return nil
	}
	shown := *created
	shown.Status = metav1.ConditionTrue // or the dashboard knows no state
	c := apimeta.FindStatusCondition(all, trainer.TrainJobSuspended)
	if c != nil && c.LastTransitionTime.After(shown.LastTransitionTime.Time) {
		shown.LastTransitionTime = c.LastTransitionTime // RestoredConditions counts deadlines from it
	}
	if why := ObstacleCondition(all); created.Status == metav1.ConditionTrue && why != nil {
		shown.Reason, shown.Message = why.Reason, why.Message
	}
	return []metav1.Condition{shown}
}

// progressReasons are the reasons of a job that only takes its time.
var progressReasons = []mpi.Reason{job.ReasonPodsPending, job.ReasonWaitingForPods, job.ReasonWaitingForNodes}

// ObstacleCondition returns the condition that names what keeps a created job from running, or what a running job lacks; nil if
// there is none.
func ObstacleCondition(all []metav1.Condition) *metav1.Condition {
	for _, kind := range []string{job.PodsReady, job.Running} {
		c := apimeta.FindStatusCondition(all, kind)
		if c != nil && c.Status == metav1.ConditionFalse && !slices.Contains(progressReasons, mpi.Reason(c.Reason)) || isWarning(c) {
			return c
		}
	}
	return nil
}

// isWarning reports whether a job runs and its agents see something go wrong.
func isWarning(c *metav1.Condition) bool {
	if c == nil || c.Type != job.Running || c.Status != metav1.ConditionTrue {
		return false
	}
	_, documented := diagnose.ReasonDocOf(mpi.Reason(c.Reason))
	return documented
}

// AllConditions returns all conditions of a TrainJob, those of its status and those that are recorded.
func AllConditions(trainJob *trainer.TrainJob) []metav1.Condition {
	record, _ := jobv1.Read(trainJob.Annotations, trainJob.UID)
	return MergeStatusConditions(record.Conditions, trainJob.Status.Conditions)
}

// MergeStatusConditions adds the conditions that a status shows to recorded ones.
func MergeStatusConditions(recorded, status []metav1.Condition) []metav1.Condition {
	all := RecordedConditions(recorded)
	for _, c := range status {
		if i := slices.IndexFunc(all, func(r metav1.Condition) bool { return r.Type == c.Type }); i < 0 {
			all = append(all, c)
		} else if c.Type != job.Created { // which has the words of others
			all[i] = c
		}
	}
	return all
}

// RecordedConditions returns the conditions that a record tells, in the order of a job's life. Others may suspend and
// end a job: its status alone tells of that.
func RecordedConditions(all []metav1.Condition) []metav1.Condition {
	recorded := slices.DeleteFunc(slices.Clone(all), func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && slices.Contains([]string{trainer.TrainJobSuspended, trainer.TrainJobComplete, trainer.TrainJobFailed}, c.Type)
	})
	slices.SortStableFunc(recorded, func(a, b metav1.Condition) int {
		return cmp.Compare(slices.Index(job.ConditionOrder, a.Type), slices.Index(job.ConditionOrder, b.Type))
	})
	return recorded
}

// impliedConditions returns the conditions of a job of which no record is needed: it waits for being made, has just been made, or was made suspended.
func impliedConditions(status []metav1.Condition) []metav1.Condition {
	if len(status) != 1 {
		return status
	}
	switch shown := status[0]; {
	case shown.Type == job.Created && mpi.Reason(shown.Reason) != job.ReasonJobSetCreated:
		return []metav1.Condition{conditionLike(shown, job.Created, false, mpi.Reason(shown.Reason), shown.Message)}
	case shown.Type == job.Created:
		return waitingConditions(shown, job.ReasonPodsPending, job.ReasonWaitingForPods)
	case shown.Type == trainer.TrainJobSuspended:
		return append(waitingConditions(shown, job.ReasonSuspended, job.ReasonSuspended), shown)
	}
	return status
}

// waitingConditions returns the conditions of a job whose objects exist and whose pods do not run, for these reasons.
// A reason without a fixed message gets the message that the status shows.
func waitingConditions(shown metav1.Condition, pods, running mpi.Reason) []metav1.Condition {
	messages := map[mpi.Reason]string{
		job.ReasonPodsPending: podsPending, job.ReasonWaitingForPods: waitingForPods, job.ReasonSuspended: isSuspended,
	}
	return []metav1.Condition{
		conditionLike(shown, job.PodsReady, false, pods, cmp.Or(messages[pods], shown.Message)),
		conditionLike(shown, job.Running, false, running, cmp.Or(messages[running], shown.Message)),
		conditionLike(shown, job.Created, true, job.ReasonJobSetCreated, allExist),
	}
}

// conditionLike returns a condition with the times of another.
func conditionLike(c metav1.Condition, kind string, is bool, reason mpi.Reason, message string) metav1.Condition {
	c.Type, c.Status, c.Reason, c.Message = kind, metav1.ConditionFalse, string(reason), message
	if is {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// ClipMessage keeps a message within a limit of bytes. What others said is in it, and they may have said much.
func ClipMessage(message string, limit int) string {
	const more = "…"
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-len(more)], "") + more
}
