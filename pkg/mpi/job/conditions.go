package job

import (
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The conditions beyond upstream's Suspended, Complete and Failed. A status shows one of them at a time: see Published.
//
//	Created     all objects of the job exist
//	Suspended   spec.suspend holds the job back (absent until that happened once, as upstream has it)
//	PodsReady   every pod of the job is ready
//	Running     all nodes answered the launcher, and the user's command runs
//	Complete    the launcher succeeded                      (absent until true, final)
//	Failed      the job failed, and the message says why    (absent until true, final)
//
// PodsReady and Running are absent before Created is true.
const (
	Created   = "Created"
	PodsReady = "PodsReady"
	Running   = "Running"
)

// Life is the order in which a job comes to its conditions.
var Life = []string{
	Created, trainer.TrainJobSuspended, Restarting, Guarded, PodsReady, Running, Diagnosed, trainer.TrainJobComplete, trainer.TrainJobFailed,
}

// conditions collects the conditions of one pass in life order.
type conditions struct {
	now        time.Time
	generation int64
	earlier    []metav1.Condition
	list       []metav1.Condition
}

func (c *conditions) created(reason mpi.Reason, message string) {
	c.add(Created, true, reason, message)
}

func (c *conditions) notCreated(reason mpi.Reason, message string) {
	c.add(Created, false, reason, message)
}

// suspended has upstream's words, and Kueue's where it is Kueue that has stopped the job; they stay until the job is resumed. A
// job that was never suspended has no such condition. Wait is what is known of its wait in a queue.
func (c *conditions) suspended(now bool, why *Eviction, wait Wait) {
	const suspended = "TrainJob is suspended"
	earlier := apimeta.FindStatusCondition(c.earlier, trainer.TrainJobSuspended)
	switch {
	case now && why != nil:
		c.add(trainer.TrainJobSuspended, true, why.Reason, wait.in(suspended+": "+why.text()))
	case now && earlier != nil && earlier.Status == metav1.ConditionTrue:
		c.add(trainer.TrainJobSuspended, true, mpi.Reason(earlier.Reason), wait.in(earlier.Message))
	case now:
		c.add(trainer.TrainJobSuspended, true, ReasonSuspended, wait.in(suspended))
	case earlier != nil:
		c.add(trainer.TrainJobSuspended, false, ReasonResumed, "TrainJob is resumed")
	}
}

func (c *conditions) podsReady(message string) { c.add(PodsReady, true, ReasonPodsReady, message) }

func (c *conditions) podsNotReady(reason mpi.Reason, message string) {
	c.add(PodsReady, false, reason, message)
}

func (c *conditions) running(message string) { c.add(Running, true, ReasonGatePassed, message) }

func (c *conditions) notRunning(reason mpi.Reason, message string) {
	c.add(Running, false, reason, message)
}

// keep leaves conditions as they are.
func (c *conditions) keep(kinds ...string) {
	for _, kind := range kinds {
		if earlier := apimeta.FindStatusCondition(c.earlier, kind); earlier != nil {
			c.list = append(c.list, *earlier)
		}
	}
}

func (c *conditions) ended(e end) {
	kind := trainer.TrainJobFailed
	if e.succeeded {
		kind = trainer.TrainJobComplete
	}
	c.add(kind, true, e.reason, e.message)
}

func (c *conditions) add(kind string, status bool, reason mpi.Reason, message string) {
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

// ordered returns what is false before what is true, each in life order, so that the last one says how far the job has come.
func (c *conditions) ordered() []metav1.Condition {
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
