package phase

import (
	"errors"
	"strings"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
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
		return f.endState(f.End.deletionEnd())
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
	if taken := f.Start.namesTakenByOthers(); len(taken) > 0 {
		return f.failState(diagnose.NameTaken, "the name is taken by what does not belong to this TrainJob: delete "+strings.Join(taken, ", ")+", or give the TrainJob another name")
	}
	if f.Waits.UntilDeadline() <= 0 {
		return f.endState(&JobEnd{Cause: f.End.deadlineExceededCause()})
	}
	sets := f.Start.podsWithDefaults(made)
	if why := f.Start.permanentHoldCause(sets); why != nil {
		return f.failState(why.Reason, why.Text()+"; then create the TrainJob again: this one is over, and does not wait for it")
	}
	if leftovers := f.Start.leftoversOfEarlierJob(); len(leftovers) > 0 || f.Start.hasLingeringPods() {
		why := diagnose.Cause{Reason: job.ReasonWaitingForDeletion, Message: describeEarlierJob(made) + " `" + made.Name + "` is still being deleted"}
		return JobState{Phase: phase, Waiting: &why, Leftovers: leftovers}
	}
	if fetching := f.fetchState(made, phase); fetching != nil {
		return *fetching
	}
	if why := f.Start.holdBeforePodsCause(sets); why != nil {
		if over := f.End.gangTimeoutEnd(why); over != nil {
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
	if f.Start.JobSetToDelete() {
		return JobState{Phase: f.suspendedPhaseOr(jobv1.Restarting)}
	}
	end := f.End.found()
	if f.JobSetGone() && (end == nil || !end.Succeeded) {
		return f.endState(f.End.deletionEnd())
	}
	if again := f.End.restartAfterFailure(end); again != nil {
		return JobState{Phase: jobv1.Restarting, Restart: again}
	}
	switch {
	case end != nil:
		return f.endState(f.End.withRestartCount(*end))
	case f.End.JobSetEnds():
		return JobState{Phase: jobv1.Stopping, Unexplained: true}
	}
	if why := f.Start.holdBeforeResumeCause(); why != nil {
		return JobState{Phase: jobv1.Creating, Waiting: why, Held: true}
	}
	return JobState{Phase: f.suspendedPhaseOr(f.Run.phase())}
}

// stateUnderTrainer is the state of a job that Kubeflow Trainer runs. Trainer ends it, and says so.
func (f *Facts) stateUnderTrainer() JobState {
	switch {
	case f.Runtime == nil, !f.Runtime.IsCompiled(), f.EndPublished() && !f.End.KeyMayComeBack():
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
		state.Phase = f.suspendedPhaseOr(f.Run.phase())
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
		state.Waiting = f.Start.permanentHoldCause(f.Start.podsWithDefaults(made))
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
		state.End = f.End.found()
	default:
		state.End = &JobEnd{Cause: diagnose.Cause{Reason: mpi.Reason(failed.Reason), Message: failed.Message}}
	}
	return state
}
