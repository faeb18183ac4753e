package phase

import (
	"fmt"
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// haveAllPodsRun reports whether all pods of the job have run at the same time: then the gang has started, whatever comes later. Those
// that are being deleted ran before.
func (f *Facts) haveAllPodsRun() bool {
	if f.werePodsReady() {
		return true
	}
	pods := f.All
	for _, pod := range pods {
		if pod.Status.Phase == "Pending" || pod.Status.Phase == "" {
			return false
		}
	}
	return len(pods) >= f.Want
}

// werePodsReady reports whether the status tells that all pods were ready once since the job was begun, resumed or restarted. The
// condition PodsReady comes with Created or earlier, a suspension and a restart take it back, and nothing but a gang that is
// ready makes it true: where it has changed after all of these, the gang was. All these times are of our own clock.
func (f *Facts) werePodsReady() bool {
	ready, created := f.PublishedCondition(job.PodsReady), f.PublishedCondition(job.Created)
	if ready == nil || created == nil || ready.Status == metav1.ConditionTrue {
		return ready != nil && ready.Status == metav1.ConditionTrue
	}
	return !slices.ContainsFunc(f.TrainJob.Status.Conditions, func(c metav1.Condition) bool {
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
func (f *Facts) NextCheck() time.Duration {
	next := never
	for _, until := range []time.Duration{f.UntilDeadline(), f.untilGangTimeout(), f.untilPullTimeout(), f.UntilNodesUp()} {
		if until > 0 {
			next = min(next, until)
		}
	}
	switch {
	case job.IsSuspended(f.JobSet):
		return zeroIfNever(min(next, f.untilPodsGivenUp()))
	case len(f.Current) < f.Want:
		next = min(next, f.recheckWhenLate(observe.FactRuns, podsExpectedWithin))
	case f.hasPodWithoutAddress():
		next = min(next, f.recheckWhenLate(observe.FactPlaced, mountExpectedWithin))
	}
	return zeroIfNever(next)
}

// untilPodsGivenUp is when a suspended JobSet is resumed although a pod that was stopped is still there.
func (f *Facts) untilPodsGivenUp() time.Duration {
	until := never
	if f.SuspensionPending() {
		for _, pod := range f.All {
			if pod.DeletionTimestamp != nil && f.mayStillRun(pod) {
				until = min(until, f.untilGivenUp(pod))
			}
		}
	}
	return until
}

// FirstCheck returns when to look again at a job that has just been made: at its pods, or when its time is over.
func (f *Facts) FirstCheck() time.Duration {
	return min(podsExpectedWithin+CauseRecheck, f.UntilDeadline())
}

// recheckWhenLate returns when to ask why something is not there that was expected within a time of a fact, again and again.
func (f *Facts) recheckWhenLate(since observe.FactKind, expected time.Duration) time.Duration {
	if age := f.FactAge(since, f.JobSet.UID); age <= expected {
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
func (f *Facts) UntilDeadline() time.Duration {
	seconds := f.TrainJob.Spec.ActiveDeadlineSeconds
	if seconds == 0 || ptr.Deref(f.TrainJob.Spec.Suspend, false) {
		return never
	}
	return f.RequestedAt().Add(time.Duration(seconds) * time.Second).Sub(f.Now)
}

func (f *Facts) deadlineExceededCause() diagnose.Cause {
	message := fmt.Sprintf("the job took longer than its activeDeadlineSeconds of %d", f.TrainJob.Spec.ActiveDeadlineSeconds)
	return diagnose.Cause{Reason: diagnose.DeadlineExceeded, Message: message}
}

// RecheckWaiting returns when to look again at what a job waits for.
func (f *Facts) RecheckWaiting(why *diagnose.Cause) time.Duration {
	retry := heldRetry
	if why.Reason == diagnose.QuotaExceeded && f.Now.Sub(f.BegunAt()) > quotaNewsWithin {
		retry = quotaRetry
	}
	return min(retry, f.UntilDeadline(), f.untilGangTimeout())
}

// untilGangTimeout returns the time left until all pods must run, never without a limit or once they did.
func (f *Facts) untilGangTimeout() time.Duration {
	if f.Runtime == nil || f.SuspendWanted() || f.Runtime.GangTimeout() == 0 || f.OwnsJobSet() && f.haveAllPodsRun() {
		return never
	}
	return f.BegunAt().Add(f.Runtime.GangTimeout()).Sub(f.Now)
}

// untilPullTimeout returns the time until an image that cannot be pulled ends the job.
func (f *Facts) untilPullTimeout() time.Duration {
	until := never
	for _, pod := range f.Current {
		if _, seen := f.FactSince(observe.FactImage, pod.UID); seen && f.pullIsFinal(pod) {
			until = min(until, ImagePullTimeout-f.FactAge(observe.FactImage, pod.UID))
		}
	}
	return until
}

// AreNodesUp reports whether all nodes are ready.
func (f *Facts) AreNodesUp() bool {
	_, up := f.FactSince(observe.FactUp, f.JobSet.UID)
	return up
}

// UntilNodesUp is the time until a launcher that has not passed its gate is to be told that its nodes are up, 0 for never.
func (f *Facts) UntilNodesUp() time.Duration {
	age := f.FactAge(observe.FactUp, f.JobSet.UID)
	if !f.AreNodesUp() || age >= NodesUpAfter || f.Gate != nil && f.Gate.Result != nil {
		return 0
	}
	return NodesUpAfter - age
}
