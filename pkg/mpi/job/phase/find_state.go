package phase

import (
	"errors"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

func (f *Facts) findState() JobState {
	switch {
	case !job.IsManagedHere(f.TrainJob):
		return JobState{}
	case f.Beside:
		return f.stateUnderTrainer()
	case job.IsFinished(f.TrainJob):
		return JobState{Phase: f.publishedEndPhase()}
	case f.NamespaceTerminating: // all of the job goes, and nobody has to be told
		return JobState{}
	case f.OwnsJobSet() && f.JobSet.Labels[mpi.TrainJobLabel] == "":
		return JobState{Foreign: true}
	case f.OwnsJobSet():
		return f.stateWithJobSet()
	case f.JobSetGone(): // whether its runtime is still there or not
		return f.endState(f.deletionEnd())
	case f.Runtime == nil:
		return JobState{Phase: jobv1.Creating, Waiting: &diagnose.Cause{Reason: diagnose.RuntimeNotFound, Message: runtimeNotFoundText(f.TrainJob.Spec.RuntimeRef)}}
	case !f.Runtime.IsMPI():
		return JobState{}
	}
	return f.stateBeforeJobSet()
}

func (f *Facts) endState(end *JobEnd) JobState {
	return JobState{Phase: AtEnd(end.Reason, end.Succeeded, f.WasJobSetMade()), End: end}
}

// failState ends a job for a reason that this package finds itself.
func (f *Facts) failState(reason mpi.Reason, message string) JobState {
	return f.endState(&JobEnd{Cause: diagnose.Cause{Reason: reason, Message: message}})
}

// stateBeforeJobSet is the state of a job without a JobSet.
func (f *Facts) stateBeforeJobSet() JobState {
	made, err := job.Resolve(f.TrainJob, *f.Runtime)
	var refused *job.Refusal
	if errors.As(err, &refused) {
		return f.failState(refused.Reason, refused.Message)
	}
	if made.TraceRefused != nil {
		return f.failState(made.TraceRefused.Reason, made.TraceRefused.Message)
	}
	made.Attempt, made.Requested = f.PublishedRestarts(), f.RequestedAt()
	phase := f.suspendedPhaseOr(jobv1.Creating)
	if phase == jobv1.Creating && f.HasPublishedCondition(job.Restarting) {
		phase = jobv1.Restarting
	}
	if taken := f.namesTakenByOthers(); len(taken) > 0 {
		return f.failState(diagnose.NameTaken, "the name is taken by what does not belong to this TrainJob: delete "+strings.Join(taken, ", ")+", or give the TrainJob another name")
	}
	if f.UntilDeadline() <= 0 {
		return f.endState(&JobEnd{Cause: f.deadlineExceededCause()})
	}
	sets := f.podsWithDefaults(made)
	if why := f.permanentHoldCause(sets); why != nil {
		return f.failState(why.Reason, why.Text()+"; then create the TrainJob again: this one is over, and does not wait for it")
	}
	if leftovers := f.leftoversOfEarlierJob(); len(leftovers) > 0 || f.hasLingeringPods() {
		why := diagnose.Cause{Reason: job.ReasonWaitingForDeletion, Message: describeEarlierJob(made) + " `" + made.Name + "` is still being deleted"}
		return JobState{Phase: phase, Waiting: &why, Leftovers: leftovers}
	}
	if why := f.holdBeforePodsCause(sets); why != nil {
		if over := f.gangTimeoutEnd(why); over != nil {
			return f.endState(&JobEnd{Cause: over.Cause}) // there is no JobSet to stop
		}
		return JobState{Phase: phase, Waiting: why, Held: true}
	}
	return JobState{Phase: phase, Job: &made}
}

// describeEarlierJob names whose remains are in the way of a job.
func describeEarlierJob(made job.Job) string {
	if made.Attempt > 0 {
		return "the earlier attempt of the job"
	}
	return "an earlier job of the name"
}

// stateWithJobSet is the state of a job that has been started.
func (f *Facts) stateWithJobSet() JobState {
	if f.JobSetToDelete() {
		return JobState{Phase: f.suspendedPhaseOr(jobv1.Restarting)}
	}
	end := f.end()
	if f.JobSetGone() && (end == nil || !end.Succeeded) {
		return f.endState(f.deletionEnd())
	}
	if again := f.restartAfterFailure(end); again != nil {
		return JobState{Phase: jobv1.Restarting, Restart: again}
	}
	switch {
	case end != nil:
		return f.endState(f.withRestartCount(*end))
	case f.JobSetEnds():
		return JobState{Phase: jobv1.Stopping, Unexplained: true}
	}
	if why := f.holdBeforeResumeCause(); why != nil {
		return JobState{Phase: jobv1.Creating, Waiting: why, Held: true}
	}
	return JobState{Phase: f.suspendedPhaseOr(f.startedPhase())}
}

// stateUnderTrainer is the state of a job that Kubeflow Trainer runs. Trainer ends it, and says so.
func (f *Facts) stateUnderTrainer() JobState {
	switch {
	case f.Runtime == nil, !f.Runtime.IsCompiled(), f.EndPublished() && !f.KeyMayComeBack():
		return JobState{}
	case f.EndPublished():
		return JobState{Phase: f.publishedEndPhase()}
	case job.IsFinished(f.TrainJob):
		return f.stateEndedByTrainer()
	case f.StalePolicies():
		return JobState{Phase: jobv1.Creating}
	}
	state := JobState{Phase: jobv1.Creating}
	if f.OwnsJobSet() {
		state.Phase = f.suspendedPhaseOr(f.startedPhase())
	}
	made, err := job.Resolve(f.TrainJob, *f.Runtime)
	if err != nil {
		// Trainer runs it all the same: its own rules are wider.
		cause := diagnose.Cause{Reason: diagnose.InvalidRuntime, Message: err.Error()}
		if refused := (*job.Refusal)(nil); errors.As(err, &refused) {
			cause.Reason = refused.Reason
		}
		state.Waiting = &cause
		return state
	}
	state.Job = &made
	if f.OwnsJobSet() && len(f.Current) < f.Want {
		state.Waiting = f.permanentHoldCause(f.podsWithDefaults(made))
	}
	return state
}

// stateEndedByTrainer is the state of a job that Kubeflow Trainer has ended, with why, once it is known.
func (f *Facts) stateEndedByTrainer() JobState {
	state := JobState{Phase: f.publishedEndPhase()}
	switch failed := f.PublishedCondition(trainer.TrainJobFailed); {
	case state.Phase == jobv1.Complete:
		state.End = &JobEnd{Succeeded: true, Cause: diagnose.Cause{Reason: job.ReasonCompleted}}
	case f.OwnsJobSet() && f.JobSetFailed() != nil:
		state.End = f.end()
	default:
		state.End = &JobEnd{Cause: diagnose.Cause{Reason: mpi.Reason(failed.Reason), Message: failed.Message}}
	}
	return state
}

// JobSetToDelete reports whether the JobSet is to go, so that it can be made again: the status tells of a restart after it, or it
// failed while it was being suspended. Then its launcher has lost its nodes a moment before it was ended itself, which is
// no failure of the job: Kueue would otherwise turn a preempted job into a failed one.
func (f *Facts) JobSetToDelete() bool {
	return job.AttemptOf(f.JobSet) < f.PublishedRestarts() || f.JobSetFailed() != nil && job.IsSuspended(f.JobSet)
}

// BeingRecreated reports whether the JobSet is one of ours that is to be made again now.
func (f *Facts) BeingRecreated() bool {
	return f.OwnsJobSet() && f.JobSet.Labels[mpi.TrainJobLabel] != "" && f.JobSetToDelete() && !f.SuspendWanted()
}

// StartedAgain reports whether the JobSet of the last restart exists.
func (f *Facts) StartedAgain() bool {
	return f.OwnsJobSet() && job.AttemptOf(f.JobSet) >= f.PublishedRestarts()
}
