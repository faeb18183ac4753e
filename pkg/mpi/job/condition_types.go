package job

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// The conditions beyond upstream's Suspended, Complete and Failed. A status shows one of them at a time: see status.PublishedConditions.
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

// ConditionOrder is the order in which a job comes to its conditions.
var ConditionOrder = []string{
	Created, trainer.TrainJobSuspended, Restarting, Guarded, PodsReady, Running, Diagnosed, trainer.TrainJobComplete, trainer.TrainJobFailed,
}

// Restarting is the condition of a job that was started again after a fault of the infrastructure. It is true from the
// fault until the new JobSet exists. Its message begins with `restart N of M: `, and that is where the number of restarts is
// kept. The JobSet has the number after which it was made, and no user may write that: it says how many are left.
const Restarting = "Restarting"

// MessageOf returns the message of a condition, or nothing.
func MessageOf(conditions []metav1.Condition, kind string) string {
	if c := apimeta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// Diagnosed is the condition in which a companion says why a job failed. Failed is Kubeflow Trainer's, which copies the
// words of the JobSet into it.
const Diagnosed = "Diagnosed"

// Guarded is the condition in which a companion says that what keeps strangers out of a job is not the job's own: Kubeflow
// Trainer uses a key that somebody else has put under its name, and a network policy of somebody else stands where ours would.
// It is False then, and stays so, because pods have begun with it; where there is nothing to say it is not there.
const Guarded = "Guarded"
