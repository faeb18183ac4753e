package phase

import (
	"cmp"
	"fmt"
	"strings"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// JobEnd is how a job ends. It is written once everything else of the decision is done.
type JobEnd struct {
	diagnose.Cause
	Succeeded bool
	// Stop says that the JobSet has not ended: it goes once the end has been told. Early says that it ends by itself in a
	// moment.
	Stop, Early bool
	// Restarts is how often the job was started again, where that is all that its runtime allows and another restart might help.
	Restarts int
}

// Full returns the cause with the restarts before it.
func (e JobEnd) Full() diagnose.Cause {
	if e.Restarts > 0 {
		e.Message = strings.TrimRight(e.Message, ".") +
			fmt.Sprintf(" (restarts: %d, which is all that the runtime allows)", e.Restarts)
	}
	return e.Cause
}

// Text is the whole message for users.
func (e JobEnd) Text() string { return e.Full().Text() }

// JobRestart is what becomes of a JobSet that failed, and is to be made again.
type JobRestart struct {
	// Number counts from 1, Of is the budget of the runtime.
	Number, Of int
	// Failure is what ended the JobSet.
	Failure JobEnd
}

// findEnd returns how the job ended, or nil while it has not, or while nobody knows why yet.
func (e *End) findEnd() *JobEnd {
	if condition := job.TrueCondition(e.JobSet, jobset.JobSetCompleted); condition != nil {
		return e.successEnd()
	}
	condition := e.JobSetFailed()
	switch {
	case condition == nil && e.SuspendWanted():
		return nil
	case condition == nil:
		return cmp.Or(e.earlyEnd(), e.stuckEnd())
	}
	cause, early := e.Cause(), e.FactAge(observe.FactFailed, e.JobSet.UID) < causeExpectedWithin
	switch {
	case early && (cause == nil || cause.IsProvisional()):
		return nil
	case cause != nil:
		return &JobEnd{Cause: *cause}
	}
	return &JobEnd{Cause: diagnose.Cause{Reason: diagnose.JobSetFailed, Message: "the JobSet failed and no pod shows why, as when one was deleted while it ran: " + condition.Message}}
}

// timeoutEnd returns the end of a job whose time is over although its JobSet has not ended, or nil.
func (e *End) timeoutEnd() *JobEnd {
	if e.waits.UntilDeadline() <= 0 {
		return &JobEnd{Cause: e.deadlineExceededCause(), Stop: true}
	}
	if over := e.run.overtimeCause(); over != nil && e.Cause().Reason == over.Reason {
		return &JobEnd{Cause: *over, Stop: true}
	}
	return nil
}

// gangTimeoutEnd ends a job whose pods did not come together in time. Why names what held them up, as far as it shows.
func (e *End) gangTimeoutEnd(why *diagnose.Cause) *JobEnd {
	if e.waits.untilGangTimeout() > 0 {
		return nil
	}
	text := fmt.Sprintf("the pods of the job did not all run within %s, which is the gang timeout of the runtime", e.Runtime.GangTimeout())
	if why != nil {
		text += ": " + why.Text()
	}
	return &JobEnd{Cause: diagnose.Cause{Reason: diagnose.GangTimeout, Message: text}, Stop: true}
}

// deletionEnd is the end of a job whose JobSet is gone. Whatever its runtime allows, it is not restarted: what a person has taken away is no
// fault of the infrastructure.
func (e *End) deletionEnd() *JobEnd {
	entry, _ := diagnose.ReasonDocOf(diagnose.JobSetDeleted)
	message := fmt.Sprintf("JobSet `%s` was deleted while the job ran, and not by %s: its pods are gone with it", e.TrainJob.Name, mpi.ControllerName)
	return &JobEnd{Cause: diagnose.Cause{Reason: diagnose.JobSetDeleted, Message: message, Remedy: entry.Remedy}, Stop: true}
}

// restartAfterFailure returns what to do about a failure that is not the job's own, or nil.
func (e *End) restartAfterFailure(end *JobEnd) *JobRestart {
	if end == nil || end.Succeeded || end.Stop || e.Runtime == nil || !end.IsInfrastructure() {
		return nil
	}
	number, budget := job.AttemptOf(e.JobSet)+1, e.Runtime.RestartBudget()
	if number > budget {
		return nil
	}
	return &JobRestart{number, budget, *end}
}

// withRestartCount is the same end of a job, with the budget that is used up.
func (e *End) withRestartCount(end JobEnd) *JobEnd {
	if !end.Succeeded && end.IsInfrastructure() {
		end.Restarts = job.AttemptOf(e.JobSet)
	}
	return &end
}

// isFinalRefusal reports whether no waiting changes why the API server refuses pods: they are invalid, or Pod Security, a LimitRange or
// OpenShift's security constraints do not allow them. A quota and a policy may allow them later.
func isFinalRefusal(reason mpi.Reason) bool {
	switch reason {
	case diagnose.PodInvalid, diagnose.PodSecurityDenied, diagnose.SecurityContextDenied, diagnose.LimitRangeViolated:
		return true
	}
	return false
}

// earlyEnd returns how a job ends whose JobSet has not: its launcher has said so, or its time is over.
func (e *End) earlyEnd() *JobEnd { return cmp.Or(e.endToldByLauncher(), e.timeoutEnd()) }

// stuckEnd returns the end of a job that cannot get its pods to run although nothing has failed, or nil: pods that the API
// server refuses for good, images that cannot be pulled, a gang that did not come together in time.
func (e *End) stuckEnd() *JobEnd {
	pods := e.Current
	if len(pods) < e.Want {
		if why := podRefusalCause(e.Warnings, e.JobSet, e.Jobs); why != nil && isFinalRefusal(why.Reason) {
			return &JobEnd{Cause: *why, Stop: true}
		}
	}
	for _, pod := range pods {
		switch failing, hopeless := observe.IsPullFailing(pod); {
		case hopeless:
		case !failing, e.FactAge(observe.FactImage, pod.UID) < ImagePullTimeout, !e.waits.pullIsFinal(pod):
			continue
		}
		if why := e.start.problemOf(pod); why != nil {
			return &JobEnd{Cause: *why, Stop: true}
		}
	}
	if e.waits.untilGangTimeout() > 0 {
		return nil
	}
	return e.gangTimeoutEnd(e.start.Problem())
}

func (e *End) deadlineExceededCause() diagnose.Cause {
	message := fmt.Sprintf("the job took longer than its activeDeadlineSeconds of %d", e.TrainJob.Spec.ActiveDeadlineSeconds)
	return diagnose.Cause{Reason: diagnose.DeadlineExceeded, Message: message}
}

// JobSetEnds reports whether the JobSet has finished, or will in a moment, or the time of the job is over.
func (e *End) JobSetEnds() bool {
	return e.OwnsJobSet() && (e.JobSetEnded() || !e.SuspendWanted() && e.earlyEnd() != nil)
}
