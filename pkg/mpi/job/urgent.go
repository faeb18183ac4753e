package job

import (
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Calm is how long news may wait for more, so that a job costs the API server two writes of its status and not five: on
// the way to the first rank the steps follow each other within a second. Bad news, and what a user or a queue waits for, is
// written at once.
const Calm = time.Second

// calm are the reasons that tell of a step on the way.
var calm = map[mpi.Reason]bool{
	ReasonJobSetCreated: true, ReasonPodsPending: true, ReasonPodsReady: true,
	ReasonWaitingForPods: true, ReasonWaitingForNodes: true,
}

// Urgent says whether a status has to be written at once: it tells of more than steps on the way and counts of Jobs.
func Urgent(before, after trainer.TrainJobStatus) bool {
	for _, condition := range after.Conditions {
		earlier := apimeta.FindStatusCondition(before.Conditions, condition.Type)
		if earlier == nil || earlier.Status != condition.Status || earlier.Reason != condition.Reason || earlier.Message != condition.Message {
			if !calm[mpi.Reason(condition.Reason)] || falls(earlier, condition) {
				return true
			}
		}
	}
	return false
}

// falls says whether something that held does not hold any more.
func falls(earlier *metav1.Condition, condition metav1.Condition) bool {
	return earlier != nil && earlier.Status == metav1.ConditionTrue && condition.Status == metav1.ConditionFalse
}
