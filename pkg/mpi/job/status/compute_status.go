package status

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// Compute returns the status and the record of a TrainJob after a decision was carried out; the record is nil if it
// stays as it is. Applied is the error of carrying it out, nil if everything was done; with an error a job does not
// end, so that its end is tried again.
func Compute(f *phase.Facts, d decide.Decision, applied error) (trainer.TrainJobStatus, *jobv1.Record) {
	status := *f.TrainJob.Status.DeepCopy()
	if f.OwnsJobSet() && (!d.Finished || f.JobSetEnded()) {
		status.JobsStatus = jobsStatus(f.JobSet)
	}
	switch {
	case d.End != nil && d.End.Stop && applied == nil, d.Finished && len(d.Delete) > 0:
		status.JobsStatus = countsAfterDeletion(status.JobsStatus)
	case d.End != nil && d.End.Early && applied == nil:
		status.JobsStatus = countsAfterLauncher(status.JobsStatus, d.End.Succeeded)
	}
	if !d.Finished && (d.End != nil || !f.State().Unexplained) {
		c := builtConditions(f, d, applied)
		status.Conditions = c.inOrder()
		if d.End == nil || applied == nil {
			return status, ptr.To(newRecord(f, d, status.Conditions, c.causes))
		}
	}
	return status, nil
}

// newConditionBuilder begins with nothing. An end that the API server made of the decision comes instead of what the job waited for.
func newConditionBuilder(f *phase.Facts, end *phase.JobEnd) *conditionBuilder {
	state := f.State()
	if end != nil && state.End == nil {
		state.Waiting, state.Held, state.Restart = nil, false, nil
	}
	return &conditionBuilder{
		now: f.Now, generation: f.TrainJob.Generation, earlier: f.TrainJob.Status.Conditions, state: state,
		causes: map[string]diagnose.Cause{},
	}
}

func builtConditions(f *phase.Facts, d decide.Decision, applied error) *conditionBuilder {
	c := newConditionBuilder(f, d.End)
	c.addCreated(f, d.End, applied)
	c.addSuspended(f.SuspendWanted(), f.Eviction, f.Wait)
	c.addRestarting(f, d.End)
	switch {
	case d.End != nil && applied != nil:
		// The end is looked for again, and what was noted on the way to it is needed then.
		c.keepEarlier(job.PodsReady, job.Running)
	case c.state.Fetching != nil: // no pod of the job itself is there to tell of
	case f.OwnsJobSet(), f.JobSetGone(), len(d.Create) > 0 && applied == nil:
		c.addProgress(f, d.End)
	case c.state.Held:
		c.addCause(job.PodsReady, false, "", *c.state.Waiting)
	}
	if d.End != nil && applied == nil {
		c.addEnd(f, *d.End)
	}
	return c
}

func (c *conditionBuilder) addCreated(f *phase.Facts, end *phase.JobEnd, applied error) {
	waiting := c.state.Waiting
	switch {
	case f.OwnsJobSet(), f.JobSetGone():
		c.addTrue(job.ReasonJobSetCreated, allExist, job.Created)
	case applied != nil:
		c.addFalse(diagnose.CreationFailed, applied.Error()+retryMessage(applied), job.Created)
	case waiting != nil:
		c.addCause(job.Created, false, "", *waiting)
	case end != nil:
		c.addCause(job.Created, false, "", end.Full())
	default:
		c.addTrue(job.ReasonJobSetCreated, allExist, job.Created)
	}
}

// retryMessage says what becomes of a job of which an object is refused that may be allowed later: by a quota that counts objects, by a
// policy. One that has just changed, or an API server that does not answer, is tried again without a word.
func retryMessage(refused error) string {
	if !apierrors.IsForbidden(refused) {
		return ""
	}
	return ". The job waits: this is tried again every few seconds, and the job starts by itself once it is allowed"
}

// addRestarting carries the condition Restarting on: it tells of the restart that this pass begins, or of the last one.
func (c *conditionBuilder) addRestarting(f *phase.Facts, end *phase.JobEnd) {
	earlier, again := apimeta.FindStatusCondition(c.earlier, job.Restarting), c.state.Restart
	switch {
	case again != nil:
		c.addCause(job.Restarting, true, fmt.Sprintf(observe.RestartFormat, again.Number, again.Of)+": ", again.Failure.Full())
	case earlier == nil:
	case end == nil && !f.Start.HasRestarted():
		c.add(job.Restarting, true, mpi.Reason(earlier.Reason), earlier.Message)
	default:
		c.add(job.Restarting, false, job.ReasonRestarted, earlier.Message)
	}
}

// addProgress tells how far a created job has come.
func (c *conditionBuilder) addProgress(f *phase.Facts, end *phase.JobEnd) {
	waiting := c.state.Waiting
	switch {
	case c.state.Restart != nil, f.Start.IsBeingRecreated():
		c.addFalse(job.ReasonRestarting, "the job is being started again", job.PodsReady, job.Running)
	case end != nil:
		c.addFalse(job.ReasonFinished, "the job is over", job.PodsReady, job.Running)
	case f.SuspendWanted():
		c.addFalse(job.ReasonSuspended, isSuspended, job.PodsReady, job.Running)
	case c.state.Held:
		c.addCause(job.PodsReady, false, "", *waiting)
		c.addFalse(job.ReasonSuspended, stillSuspended, job.Running)
	case !f.OwnsJobSet():
		c.addFalse(job.ReasonPodsPending, podsPending, job.PodsReady)
		c.addFalse(job.ReasonWaitingForPods, waitingForPods, job.Running)
	default:
		c.addPodsReady(f)
		c.addLaunch(f)
	}
}

const (
	allExist       = "all objects of the job exist"
	isResumed      = "TrainJob is resumed"
	isSuspended    = "the job is suspended"
	podsPending    = "not all pods of the job are ready yet"
	stillSuspended = "the JobSet stays suspended until the job may have all its pods"
	waitingForPods = "the launcher cannot start before all pods of the job run"
	commandRuns    = "all nodes answered and the command runs"
	// launcherRuns is all that can be said of a runtime without the agent.
	launcherRuns = "the launcher runs; its runtime has no agent that could say whether the nodes answer"
)

// addPodsReady reports whether all pods are ready, and what keeps them from it.
func (c *conditionBuilder) addPodsReady(f *phase.Facts) {
	switch ready, why := f.Run.PodsReady(); {
	case ready:
		c.addTrue(job.ReasonPodsReady, fmt.Sprintf("all %d pods are ready", f.Want), job.PodsReady)
	case why != nil:
		c.addCause(job.PodsReady, false, "", *why)
		if shown := diagnose.PreferRegistryWords(job.MessageOf(c.earlier, job.PodsReady), *why); shown != why.Text() {
			c.list[len(c.list)-1].Message = shown
			delete(c.causes, job.PodsReady)
		}
	default:
		c.addFalse(job.ReasonPodsPending, podsPending, job.PodsReady)
	}
}

// addRunning says that the command runs, and what the agents see go wrong meanwhile.
func (c *conditionBuilder) addRunning(warning *diagnose.Cause) {
	if warning == nil {
		c.addTrue(job.ReasonGatePassed, commandRuns, job.Running)
		return
	}
	c.addCause(job.Running, true, "the command runs: ", *warning)
}

// addLaunch tells how far the launcher is.
func (c *conditionBuilder) addLaunch(f *phase.Facts) {
	switch launch := f.Run.LaunchStep(); launch {
	case phase.LaunchWaitsForPods:
		c.addFalse(job.ReasonWaitingForPods, waitingForPods, job.Running)
	case phase.LaunchWithoutAgent:
		c.addTrue(job.ReasonGatePassed, launcherRuns, job.Running)
	case phase.LaunchRuns:
		c.addRunning(f.Run.Warning())
	case phase.LaunchHindered:
		why := diagnose.GateFailure(*f.Gate.Result)
		c.addCause(job.Running, false, "the launcher waits for its nodes: ", why)
	case phase.LaunchRefused:
		why := diagnose.GateFailure(*f.Gate.Result)
		c.addCause(job.Running, false, "", why)
	case phase.LaunchUnreachable:
		c.addFalse(diagnose.LauncherUnreachable, fmt.Sprintf("the controller cannot reach the agent of launcher pod %s on port %d: %s", f.Run.Launcher().Name, mpi.AgentPort, f.Gate.Error), job.Running)
	case phase.LaunchWaitsForNodes:
		c.addFalse(job.ReasonWaitingForNodes, "the launcher waits until all nodes answer", job.Running)
	}
}
