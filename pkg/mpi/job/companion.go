package job

import (
	"cmp"
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Diagnosed is the condition in which a companion says why a job failed. Failed is Kubeflow Trainer's, which copies the
// words of the JobSet into it.
const Diagnosed = "Diagnosed"

// Guarded is the condition in which a companion says that what keeps strangers out of a job is not the job's own: Kubeflow
// Trainer uses a key that somebody else has put under its name, and a network policy of somebody else stands where ours would.
// It is False then, and stays so, because pods have begun with it; where there is nothing to say it is not there.
const Guarded = "Guarded"

// Accompany returns what to do about a TrainJob that Kubeflow Trainer runs: network policies, the rendezvous, and the end of
// the key. Nothing that Trainer writes is written here, but for one thing: the key goes once the job is over, where Trainer
// does not make it again. It does so for failed jobs (kubeflow/trainer v2.3 forgets the condition Failed at the beginning
// of each pass, and makes what is missing), so that the key of a failed job stays; no pod is left that it opens.
func Accompany(o Observed) Decision {
	switch {
	case !Active(o.TrainJob), o.Runtime == nil, !o.Runtime.Compiled(), o.settled():
		return Decision{}
	case Over(o.TrainJob):
		return o.conclude()
	case o.stalePolicies():
		return Decision{Ours: true, RequeueAfter: leftoversGone}
	}
	decision := Decision{Ours: true}
	job, err := Resolve(o.TrainJob, *o.Runtime)
	if err != nil {
		// Trainer runs it all the same: its own rules are wider.
		decision.waiting = &problem{ReasonInvalidRuntime, err.Error()}
		return decision
	}
	if !guarded(o.TrainJob.Status.Conditions) {
		decision.Create = o.policies(job)
	}
	if !o.Owns() {
		return decision
	}
	if !suspended(o.JobSet) {
		decision.Rendezvous = o.rendezvous()
		decision.RequeueAfter = finite(o.untilUp())
	}
	if len(o.current()) < podCount(o.JobSet) {
		decision.waiting = o.impossible(o.wanted(job))
		decision.RequeueAfter = o.nextLook()
	}
	return decision
}

// PolicyBefore returns the network policy of a job that Kubeflow Trainer runs, which must be there before its first pod, or nil
// where a status says that it was made, or nothing is ours to make.
func PolicyBefore(trainJob *trainer.TrainJob, runtime Runtime, controllerNamespace string) Object {
	if !Active(trainJob) || Over(trainJob) || !runtime.Compiled() || guarded(Conditions(trainJob)) {
		return nil
	}
	job, err := Resolve(trainJob, runtime)
	if err != nil {
		return nil
	}
	return job.NetworkPolicy(controllerNamespace)
}

// policies returns the policy of the job where it is missing. One that somebody else put under the name stays, and Guarded says so.
func (o Observed) policies(job Job) []Object {
	policy := job.NetworkPolicy(o.ControllerNamespace)
	if o.named(policy) {
		return nil
	}
	return []Object{policy}
}

func (o Observed) named(object Object) bool {
	for _, child := range o.Children {
		if child.Kind == object.GetObjectKind().GroupVersionKind().Kind && child.Name == object.GetName() {
			return true
		}
	}
	return false
}

// stalePolicies says whether policies of an earlier job of this name are still there. They go with it, and ours take their
// names then. Until ours are there, no status says that they are.
func (o Observed) stalePolicies() bool {
	return slices.ContainsFunc(o.claimed(stale), func(d Deletion) bool { return d.Kind == networkPolicyType().Kind })
}

// guarded says whether the policies were made: the first word of this controller comes after that.
func guarded(conditions []metav1.Condition) bool {
	return apimeta.FindStatusCondition(conditions, PodsReady) != nil
}

// unguarded says which of what keeps strangers out is somebody else's, and what that means; the empty string when nothing is.
func (o Observed) unguarded() string {
	var found []string
	for _, child := range o.Children {
		if claimOf(o.TrainJob, &child) != foreign {
			continue
		}
		switch child.Kind {
		case secretType().Kind:
			found = append(found, "Secret `"+child.Name+"` does not belong to this TrainJob, and Kubeflow Trainer uses it all the same: whoever made it has the key of the job")
		case networkPolicyType().Kind:
			found = append(found, "NetworkPolicy `"+child.Name+"` does not belong to this TrainJob, and stands where that of the job would: nothing here keeps other pods from those of the job")
		}
	}
	if len(found) == 0 {
		return ""
	}
	return strings.Join(found, "; ") + ": delete it, and create the TrainJob again"
}

// settled says whether the end of a job has been told.
func (o Observed) settled() bool {
	c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, Running)
	return c != nil && c.Reason == string(ReasonFinished) && Over(o.TrainJob)
}

// NeedsChildrenBeside is NeedsChildren of a companion.
func (o Observed) NeedsChildrenBeside() bool {
	return !guarded(o.TrainJob.Status.Conditions) || Over(o.TrainJob) && !o.settled()
}

// conclude tells why a job ended, once it is known.
func (o Observed) conclude() Decision {
	decision := Decision{Ours: true}
	conditions := o.TrainJob.Status.Conditions
	if apimeta.IsStatusConditionTrue(conditions, trainer.TrainJobComplete) {
		decision.end = &end{succeeded: true, reason: ReasonCompleted}
		decision.Delete = o.keys()
		return decision
	}
	failed := apimeta.FindStatusCondition(conditions, trainer.TrainJobFailed)
	if failed.Reason == string(ReasonDeadlineExceeded) {
		decision.Delete = o.keys()
	}
	if o.Owns() && o.failed() != nil {
		if decision.end = o.end(); decision.end == nil {
			decision.RequeueAfter = causeMissing
		}
		return decision
	}
	decision.end = &end{reason: mpi.Reason(failed.Reason), message: failed.Message}
	return decision
}

// Beside returns the conditions that a companion adds to those of Kubeflow Trainer, or nothing where there is nothing to say.
func Beside(o Observed, d Decision, applied error) []metav1.Condition {
	if applied != nil || o.settled() || Over(o.TrainJob) && d.end == nil || !Over(o.TrainJob) && o.stalePolicies() {
		return nil
	}
	c := &conditions{now: o.Now, generation: o.TrainJob.Generation, earlier: o.TrainJob.Status.Conditions}
	if why := o.unguarded(); why != "" {
		c.add(Guarded, false, ReasonNameTaken, why)
	}
	switch {
	case d.waiting != nil && d.end == nil:
		c.podsNotReady(d.waiting.reason, d.waiting.message)
		c.notRunning(ReasonWaitingForPods, waitingForPods)
	default:
		d.progress(c, o)
	}
	if d.end != nil && !d.end.succeeded {
		c.add(Diagnosed, true, d.end.reason, cmp.Or(d.end.message, "nobody knows why"))
	}
	return c.list
}
