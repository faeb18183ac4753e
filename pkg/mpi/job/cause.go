package job

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// cause returns what went wrong first, or nil when nothing shows why the job failed.
func (o Observed) cause() *diagnose.Cause {
	cause := o.orOvertime(diagnose.First(o.seen(o.all()), append(o.noted(), o.evictions()...)))
	why := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, PodsReady)
	if cause == nil || why == nil || why.Status != metav1.ConditionFalse {
		return cause
	}
	return cause.Behind(mpi.Reason(why.Reason), why.Message)
}

// noted returns the pod that an earlier pass saw being taken away (see lost).
func (o Observed) noted() []diagnose.Cause {
	c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, PodsReady)
	if c == nil || c.Status != metav1.ConditionFalse || !diagnose.Remembered(mpi.Reason(c.Reason)) {
		return nil
	}
	return []diagnose.Cause{diagnose.Remember(mpi.Reason(c.Reason), c.Message, c.LastTransitionTime.Time)}
}

// lost returns the pod that is, or was, taken away from a running job. The condition PodsReady keeps it: until the JobSet
// has failed because of it the pod may be gone, and with it all evidence.
func (o Observed) lost() *diagnose.Cause {
	if o.suspendWanted() || o.stopping() {
		return nil
	}
	if noted := o.noted(); len(noted) > 0 {
		return &noted[0]
	}
	return o.orOvertime(diagnose.Taken(o.seen(o.all())))
}
