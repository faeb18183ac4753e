package phase

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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
func (f *Facts) findEnd() *JobEnd {
	if condition := job.TrueCondition(f.JobSet, jobset.JobSetCompleted); condition != nil {
		return f.successEnd()
	}
	condition := f.JobSetFailed()
	switch {
	case condition == nil && f.SuspendWanted():
		return nil
	case condition == nil:
		return cmp.Or(f.earlyEnd(), f.stuckEnd())
	}
	cause, early := f.cause(), f.FactAge(observe.FactFailed, f.JobSet.UID) < causeExpectedWithin
	switch {
	case early && (cause == nil || cause.IsProvisional()):
		return nil
	case cause != nil:
		return &JobEnd{Cause: *cause}
	}
	return &JobEnd{Cause: diagnose.Cause{Reason: diagnose.JobSetFailed, Message: "the JobSet failed and no pod shows why, as when one was deleted while it ran: " + condition.Message}}
}

// timeoutEnd returns the end of a job whose time is over although its JobSet has not ended, or nil.
func (f *Facts) timeoutEnd() *JobEnd {
	if f.UntilDeadline() <= 0 {
		return &JobEnd{Cause: f.deadlineExceededCause(), Stop: true}
	}
	if over := f.overtimeCause(); over != nil && f.cause().Reason == over.Reason {
		return &JobEnd{Cause: *over, Stop: true}
	}
	return nil
}

// gangTimeoutEnd ends a job whose pods did not come together in time. Why names what held them up, as far as it shows.
func (f *Facts) gangTimeoutEnd(why *diagnose.Cause) *JobEnd {
	if f.untilGangTimeout() > 0 {
		return nil
	}
	text := fmt.Sprintf("the pods of the job did not all run within %s, which is the gang timeout of the runtime", f.Runtime.GangTimeout())
	if why != nil {
		text += ": " + why.Text()
	}
	return &JobEnd{Cause: diagnose.Cause{Reason: diagnose.GangTimeout, Message: text}, Stop: true}
}

// deletionEnd is the end of a job whose JobSet is gone. Whatever its runtime allows, it is not restarted: what a person has taken away is no
// fault of the infrastructure.
func (f *Facts) deletionEnd() *JobEnd {
	entry, _ := diagnose.ReasonDocOf(diagnose.JobSetDeleted)
	message := fmt.Sprintf("JobSet `%s` was deleted while the job ran, and not by %s: its pods are gone with it", f.TrainJob.Name, mpi.ControllerName)
	return &JobEnd{Cause: diagnose.Cause{Reason: diagnose.JobSetDeleted, Message: message, Remedy: entry.Remedy}, Stop: true}
}

// restartAfterFailure returns what to do about a failure that is not the job's own, or nil.
func (f *Facts) restartAfterFailure(e *JobEnd) *JobRestart {
	if e == nil || e.Succeeded || e.Stop || f.Runtime == nil || !e.IsInfrastructure() {
		return nil
	}
	number, budget := job.AttemptOf(f.JobSet)+1, f.Runtime.RestartBudget()
	if number > budget {
		return nil
	}
	return &JobRestart{number, budget, *e}
}

// withRestartCount is the same end of a job, with the budget that is used up.
func (f *Facts) withRestartCount(e JobEnd) *JobEnd {
	if !e.Succeeded && e.IsInfrastructure() {
		e.Restarts = job.AttemptOf(f.JobSet)
	}
	return &e
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
func (f *Facts) earlyEnd() *JobEnd { return cmp.Or(f.endToldByLauncher(), f.timeoutEnd()) }

// stuckEnd returns the end of a job that cannot get its pods to run although nothing has failed, or nil: pods that the API
// server refuses for good, images that cannot be pulled, a gang that did not come together in time.
func (f *Facts) stuckEnd() *JobEnd {
	pods := f.Current
	if len(pods) < f.Want {
		if why := podRefusalCause(f.Warnings, f.JobSet, f.Jobs); why != nil && isFinalRefusal(why.Reason) {
			return &JobEnd{Cause: *why, Stop: true}
		}
	}
	for _, pod := range pods {
		switch failing, hopeless := observe.IsPullFailing(pod); {
		case hopeless:
		case !failing, f.FactAge(observe.FactImage, pod.UID) < ImagePullTimeout, !f.pullIsFinal(pod):
			continue
		}
		if why := f.startProblemOf(pod); why != nil {
			return &JobEnd{Cause: *why, Stop: true}
		}
	}
	if f.untilGangTimeout() > 0 {
		return nil
	}
	return f.gangTimeoutEnd(f.StartProblem())
}

// ImagePullTimeout is how long an image that does not exist, or that may not be pulled, may fail to be pulled before the job fails. Kubelet
// tries again after 10 and after 20 more seconds, so an image that comes in a moment is asked for three times. A name that is not an image, and
// an image that must be on the machine and is not, fail at once. A registry that is busy, broken or away is waited for as long as for
// anything else that the gang lacks.
const ImagePullTimeout = 45 * time.Second

// pullIsFinal reports whether the registry's answer for an image of a pod stays the same. Before Kubernetes 1.32 kubelet does not repeat it
// while it backs off; the condition does.
func (f *Facts) pullIsFinal(pod *corev1.Pod) bool {
	shown := ""
	if c := f.PublishedCondition(job.PodsReady); c != nil && c.Reason == string(diagnose.ImagePull) {
		shown = c.Message
	}
	return slices.ContainsFunc(observe.ContainersFailingToPull(pod), func(s corev1.ContainerStatus) bool {
		return diagnose.PullIsFinal(s.Image, s.State.Waiting.Message) ||
			strings.Contains(shown, "'"+s.Image+"'") && diagnose.PullIsFinal(s.Image, shown)
	})
}
