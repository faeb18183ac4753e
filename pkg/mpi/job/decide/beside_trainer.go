package decide

import (
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// decideBesideTrainer returns what to do about a TrainJob that Kubeflow Trainer runs: network policies, the push of the host table, and the end of
// the key. Nothing that Trainer writes is written here, but for one thing: the key goes once the job is over, where Trainer
// does not make it again. It does so for failed jobs (kubeflow/trainer v2.3 forgets the condition Failed at the beginning
// of each pass, and makes what is missing), so that the key of a failed job stays; no pod is left that it opens.
func decideBesideTrainer(f *phase.Facts, state phase.JobState) Decision {
	switch {
	case f.EndPublished():
		return Decision{Ours: true, Finished: true, Delete: f.KeySecrets(), RequeueAfter: phase.KeyRecheck}
	case job.IsFinished(f.TrainJob):
		return decideAfterTrainerEnd(f, state)
	case f.StalePolicies():
		return Decision{Ours: true, RequeueAfter: leftoversGone}
	case state.Job == nil:
		return Decision{Ours: true}
	}
	decision := Decision{Ours: true}
	policy := desired.NetworkPolicy(*state.Job, f.ControllerNamespace)
	if f.LacksPolicies() && !f.HasObjectNamed(policy) {
		decision.Create = []job.Object{policy} // one that somebody else put under the name stays, and Guarded says so
	}
	if !f.OwnsJobSet() {
		return decision
	}
	if !job.IsSuspended(f.JobSet) {
		decision.HostTable = hostTablePushOf(f)
		decision.RequeueAfter = f.Waits.UntilNodesUp()
	}
	if len(f.Current) < f.Want {
		decision.RequeueAfter = f.Waits.NextCheck()
	}
	return decision
}

// decideAfterTrainerEnd tells why a job ended, once it is known.
func decideAfterTrainerEnd(f *phase.Facts, state phase.JobState) Decision {
	decision := Decision{Ours: true, End: state.End}
	if f.End.KeyMayGo() {
		decision.Delete = f.KeySecrets()
	}
	if f.End.KeyMayComeBack() {
		decision.RequeueAfter = phase.KeyRecheck
	}
	if state.End == nil {
		decision.RequeueAfter = phase.CauseRecheck
	}
	return decision
}

// PolicyBeforePods returns the network policy of a job that Kubeflow Trainer runs, which must be there before its first pod, or nil
// if none is ours to make.
func PolicyBeforePods(trainJob *trainer.TrainJob, runtime job.Runtime, controllerNamespace string) job.Object {
	if !job.IsManagedHere(trainJob) || job.IsFinished(trainJob) || !runtime.IsCompiled() {
		return nil
	}
	made, err := job.Resolve(trainJob, runtime)
	if err != nil {
		return nil
	}
	return desired.NetworkPolicy(made, controllerNamespace)
}
