package decide

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// accompany returns what to do about a TrainJob that Kubeflow Trainer runs: network policies, the push of the host table, and the end of
// the key. Nothing that Trainer writes is written here, but for one thing: the key goes once the job is over, where Trainer
// does not make it again. It does so for failed jobs (kubeflow/trainer v2.3 forgets the condition Failed at the beginning
// of each pass, and makes what is missing), so that the key of a failed job stays; no pod is left that it opens.
func accompany(f *phase.Facts, state phase.State) Decision {
	switch {
	case job.Finished(f.TrainJob):
		return conclude(f, state)
	case f.StalePolicies():
		return Decision{Ours: true, RequeueAfter: leftoversGone}
	case state.Job == nil:
		return Decision{Ours: true}
	}
	decision := Decision{Ours: true}
	if policy := desired.NetworkPolicy(*state.Job, f.ControllerNamespace); !observe.PoliciesMade(f.TrainJob.Status.Conditions) && !f.HasNamed(policy) {
		decision.Create = []job.Object{policy} // one that somebody else put under the name stays, and Guarded says so
	}
	if !f.Owns() {
		return decision
	}
	if !job.IsSuspended(f.JobSet) {
		decision.HostTable = hostTablePushOf(f)
		decision.RequeueAfter = f.UntilNodesUp()
	}
	if len(f.Current) < f.Want {
		decision.RequeueAfter = f.NextCheck()
	}
	return decision
}

// conclude tells why a job ended, once it is known.
func conclude(f *phase.Facts, state phase.State) Decision {
	decision := Decision{Ours: true, End: state.End}
	failed := f.PublishedCondition(trainer.TrainJobFailed)
	if state.Phase == phase.Complete || failed.Reason == string(diagnose.DeadlineExceeded) {
		decision.Delete = f.Keys()
	}
	if state.End == nil {
		decision.RequeueAfter = phase.CauseRecheck
	}
	return decision
}

// PolicyBefore returns the network policy of a job that Kubeflow Trainer runs, which must be there before its first pod, or nil
// where its conditions say that it was made, or nothing is ours to make.
func PolicyBefore(trainJob *trainer.TrainJob, conditions []metav1.Condition, runtime job.Runtime, controllerNamespace string) job.Object {
	if !job.ManagedHere(trainJob) || job.Finished(trainJob) || !runtime.Compiled() || observe.PoliciesMade(conditions) {
		return nil
	}
	made, err := job.Resolve(trainJob, runtime)
	if err != nil {
		return nil
	}
	return desired.NetworkPolicy(made, controllerNamespace)
}
