package phase

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// haveAllPodsRun reports whether all pods of the job have run at the same time: then the gang has started, whatever comes later. Those
// that are being deleted ran before.
func (w Waits) haveAllPodsRun() bool {
	if w.werePodsReady() {
		return true
	}
	pods := w.All
	for _, pod := range pods {
		if pod.Status.Phase == "Pending" || pod.Status.Phase == "" {
			return false
		}
	}
	return len(pods) >= w.Want
}

// werePodsReady reports whether the status tells that all pods were ready once since the job was begun, resumed or restarted. The
// condition PodsReady comes with Created or earlier, a suspension and a restart take it back, and nothing but a gang that is
// ready makes it true: where it has changed after all of these, the gang was. All these times are of our own clock.
func (w Waits) werePodsReady() bool {
	ready, created := w.PublishedCondition(job.PodsReady), w.PublishedCondition(job.Created)
	if ready == nil || created == nil || ready.Status == metav1.ConditionTrue {
		return ready != nil && ready.Status == metav1.ConditionTrue
	}
	return !slices.ContainsFunc(w.TrainJob.Status.Conditions, func(c metav1.Condition) bool {
		begins := c.Type == job.Created || c.Type == trainer.TrainJobSuspended || c.Type == job.Restarting
		return begins && !ready.LastTransitionTime.After(c.LastTransitionTime.Time)
	})
}

const (
	// podsExpectedWithin is how long a job may lack pods before we ask why. Pods appear within a fraction of a second.
	podsExpectedWithin = 2 * time.Second
	// podsRecheck is how often we ask again.
	podsRecheck = 10 * time.Second
	// mountExpectedWithin is how long pods may have machines and no addresses before we ask why; kubelet tries a volume again for
	// minutes, with its first complaint after a second.
	mountExpectedWithin = 20 * time.Second
	// causeExpectedWithin is how long after the end of a JobSet its pods may still lack their last status, because both come by
	// different watches.
	causeExpectedWithin = 2 * time.Second
	// CauseRecheck is how often we look for it.
	CauseRecheck = 200 * time.Millisecond
	// podsGoneWithin is how long after the end of its grace a pod may still be there because its kubelet is busy.
	podsGoneWithin = 30 * time.Second
)

const (
	// heldRetry is when to look again at what no watch tells of: an object that pods name and that is still missing.
	heldRetry = 5 * time.Second
	// quotaRetry is when to look again at a quota, which is watched.
	quotaRetry = time.Minute
	// quotaNewsWithin is how long after its begin a job may miss news of a quota: they came before anybody knew that it waits for it.
	quotaNewsWithin = 10 * time.Second
)

// NodesUpAfter is how long all nodes are ready before their launcher is told that they must be listening. It waits longer itself
// before it believes that (package agent).
const NodesUpAfter = 2 * time.Second

// NextCheck returns when something may have to be said although nothing happened: pods that do not appear, the deadline. What is
// long over is nothing to wait for: a companion ends no job because of it.
func (w Waits) NextCheck() time.Duration {
	next := never
	for _, until := range []time.Duration{w.UntilDeadline(), w.untilGangTimeout(), w.untilPullTimeout(), w.UntilNodesUp()} {
		if until > 0 {
			next = min(next, until)
		}
	}
	switch {
	case job.IsSuspended(w.JobSet):
		return zeroIfNever(min(next, w.untilPodsGivenUp()))
	case len(w.Current) < w.Want:
		next = min(next, w.recheckWhenLate(observe.FactRuns, podsExpectedWithin))
	case w.start.hasPodWithoutAddress():
		next = min(next, w.recheckWhenLate(observe.FactPlaced, mountExpectedWithin))
	}
	return zeroIfNever(next)
}

// untilPodsGivenUp is when a suspended JobSet is resumed although a pod that was stopped is still there.
func (w Waits) untilPodsGivenUp() time.Duration {
	until := never
	if w.start.SuspensionPending() {
		for _, pod := range w.All {
			if pod.DeletionTimestamp != nil && w.start.mayStillRun(pod) {
				until = min(until, w.start.untilGivenUp(pod))
			}
		}
	}
	return until
}

// FirstCheck returns when to look again at a job that has just been made: at its pods, or when its time is over.
func (w Waits) FirstCheck() time.Duration {
	return min(podsExpectedWithin+CauseRecheck, w.UntilDeadline())
}

// recheckWhenLate returns when to ask why something is not there that was expected within a time of a fact, again and again.
func (w Waits) recheckWhenLate(since observe.FactKind, expected time.Duration) time.Duration {
	if age := w.FactAge(since, w.JobSet.UID); age <= expected {
		return expected - age + CauseRecheck
	}
	return podsRecheck
}

// never is longer than any deadline.
const never = time.Duration(1<<63 - 1)

func zeroIfNever(d time.Duration) time.Duration {
	if d == never {
		return 0
	}
	return d
}

// UntilDeadline returns the time left of activeDeadlineSeconds, which counts from the creation of the TrainJob and again
// from each time it is resumed, as upstream counts it. Without a deadline, or suspended, it is never.
func (w Waits) UntilDeadline() time.Duration {
	seconds := w.TrainJob.Spec.ActiveDeadlineSeconds
	if seconds == 0 || ptr.Deref(w.TrainJob.Spec.Suspend, false) {
		return never
	}
	return w.RequestedAt().Add(time.Duration(seconds) * time.Second).Sub(w.Now)
}

// RecheckWaiting returns when to look again at what a job waits for.
func (w Waits) RecheckWaiting(why *diagnose.Cause) time.Duration {
	retry := heldRetry
	if why.Reason == diagnose.QuotaExceeded && w.Now.Sub(w.BegunAt()) > quotaNewsWithin {
		retry = quotaRetry
	}
	return min(retry, w.UntilDeadline(), w.untilGangTimeout())
}

// untilGangTimeout returns the time left until all pods must run, never without a limit or once they did.
func (w Waits) untilGangTimeout() time.Duration {
	if w.Runtime == nil || w.SuspendWanted() || w.Runtime.GangTimeout() == 0 || w.OwnsJobSet() && w.haveAllPodsRun() {
		return never
	}
	return w.BegunAt().Add(w.Runtime.GangTimeout()).Sub(w.Now)
}

// untilPullTimeout returns the time until an image that cannot be pulled ends the job.
func (w Waits) untilPullTimeout() time.Duration {
	until := never
	for _, pod := range w.Current {
		if _, seen := w.FactSince(observe.FactImage, pod.UID); seen && w.pullIsFinal(pod) {
			until = min(until, ImagePullTimeout-w.FactAge(observe.FactImage, pod.UID))
		}
	}
	return until
}

// UntilNodesUp is the time until a launcher that has not passed its gate is to be told that its nodes are up, 0 for never.
func (w Waits) UntilNodesUp() time.Duration {
	age := w.FactAge(observe.FactUp, w.JobSet.UID)
	if !w.start.AreNodesUp() || age >= NodesUpAfter || w.Gate != nil && w.Gate.Result != nil {
		return 0
	}
	return NodesUpAfter - age
}

// ImagePullTimeout is how long an image that does not exist, or that may not be pulled, may fail to be pulled before the job fails. Kubelet
// tries again after 10 and after 20 more seconds, so an image that comes in a moment is asked for three times. A name that is not an image, and
// an image that must be on the machine and is not, fail at once. A registry that is busy, broken or away is waited for as long as for
// anything else that the gang lacks.
const ImagePullTimeout = 45 * time.Second

// pullIsFinal reports whether the registry's answer for an image of a pod stays the same. Before Kubernetes 1.32 kubelet does not repeat it
// while it backs off; the condition does.
func (w Waits) pullIsFinal(pod *corev1.Pod) bool {
	shown := ""
	if c := w.PublishedCondition(job.PodsReady); c != nil && c.Reason == string(diagnose.ImagePull) {
		shown = c.Message
	}
	return slices.ContainsFunc(observe.ContainersFailingToPull(pod), func(s corev1.ContainerStatus) bool {
		return diagnose.PullIsFinal(s.Image, s.State.Waiting.Message) ||
			strings.Contains(shown, "'"+s.Image+"'") && diagnose.PullIsFinal(s.Image, shown)
	})
}

// jobSetEndsWithin is how long a JobSet may take to end after the job has: usually some 2 s. One that has not by then waits for
// a container that does not end, such as a sidecar, and holds machines for nothing.
const jobSetEndsWithin = time.Minute

// UntilJobSetEnds returns how long the JobSet of a job that is over may still take to end by itself, 0 when it will not.
func (w Waits) UntilJobSetEnds() time.Duration {
	launcher := observe.LauncherOf(w.All)
	if launcher == nil || observe.MainEnd(launcher) == nil {
		return 0
	}
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if c := w.PublishedCondition(kind); c != nil {
			return max(0, c.LastTransitionTime.Add(jobSetEndsWithin).Sub(w.Now))
		}
	}
	return 0
}
