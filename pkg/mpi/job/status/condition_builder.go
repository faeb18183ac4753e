package status

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// conditionBuilder collects the conditions of one pass in life order.
type conditionBuilder struct {
	now        time.Time
	generation int64
	earlier    []metav1.Condition
	state      phase.JobState
	// causes are the typed faults of the conditions, by the type of the condition.
	causes map[string]diagnose.Cause
	list   []metav1.Condition
}

// addSuspended has upstream's words, Kueue's if it has stopped the job, and the wait in a queue. They stay if nothing is
// known of the wait. A job that was never suspended has no such condition.
func (c *conditionBuilder) addSuspended(now bool, why *kueue.Eviction, wait kueue.QueueWait) {
	const suspended = "TrainJob is suspended"
	earlier := apimeta.FindStatusCondition(c.earlier, trainer.TrainJobSuspended)
	was := earlier != nil && earlier.Status == metav1.ConditionTrue
	switch {
	case now && was && !wait.Known:
		c.add(trainer.TrainJobSuspended, true, mpi.Reason(earlier.Reason), earlier.Message)
	case now && why != nil:
		c.add(trainer.TrainJobSuspended, true, why.Reason, suspended+": "+why.Text()+wait.Text)
	case now && was:
		c.add(trainer.TrainJobSuspended, true, mpi.Reason(earlier.Reason), suspended+wait.Text)
	case now:
		c.add(trainer.TrainJobSuspended, true, job.ReasonSuspended, suspended+wait.Text)
	case earlier != nil:
		c.add(trainer.TrainJobSuspended, false, job.ReasonResumed, isResumed)
	}
}

// addTrue and addFalse add conditions of one reason and message that hold, or do not.
func (c *conditionBuilder) addTrue(reason mpi.Reason, message string, kinds ...string) {
	for _, kind := range kinds {
		c.add(kind, true, reason, message)
	}
}

func (c *conditionBuilder) addFalse(reason mpi.Reason, message string, kinds ...string) {
	for _, kind := range kinds {
		c.add(kind, false, reason, message)
	}
}

// addCause adds a condition for a cause, with some words before it.
func (c *conditionBuilder) addCause(kind string, is bool, before string, cause diagnose.Cause) {
	cause.Message = before + cause.Message
	c.causes[kind] = cause
	c.add(kind, is, cause.Reason, cause.Text())
}

// keepEarlier leaves conditions as they are.
func (c *conditionBuilder) keepEarlier(kinds ...string) {
	for _, kind := range kinds {
		if earlier := apimeta.FindStatusCondition(c.earlier, kind); earlier != nil {
			c.list = append(c.list, *earlier)
		}
	}
}

func (c *conditionBuilder) addEnd(f *phase.Facts, e phase.JobEnd) {
	kind := trainer.TrainJobFailed
	if e.Succeeded {
		kind = trainer.TrainJobComplete
	}
	c.addCause(kind, true, "", withPage(f, e.Full()))
}

// withPage adds the address of the page about its reason to the cause of an end. Other conditions are read again, and
// their words become part of others.
func withPage(f *phase.Facts, cause diagnose.Cause) diagnose.Cause {
	if f.Runtime != nil {
		cause.URL = diagnose.PageURL(f.Runtime.Annotations[mpi.DocsAnnotation], cause.Reason)
	}
	return cause
}

func (c *conditionBuilder) add(kind string, status bool, reason mpi.Reason, message string) {
	condition := metav1.Condition{
		Type:               kind,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: c.generation,
		LastTransitionTime: metav1.NewTime(c.now),
		Reason:             string(reason),
		Message:            message,
	}
	if status {
		condition.Status = metav1.ConditionTrue
	}
	if e := apimeta.FindStatusCondition(c.earlier, kind); e != nil && e.Status == condition.Status {
		condition.LastTransitionTime = e.LastTransitionTime
	}
	c.list = append(c.list, condition)
}

// inOrder returns what is false before what is true, each in life order, so that the last one says how far the job has come.
func (c *conditionBuilder) inOrder() []metav1.Condition {
	var result []metav1.Condition
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue} {
		for _, condition := range c.list {
			if condition.Status == status {
				result = append(result, condition)
			}
		}
	}
	return result
}
