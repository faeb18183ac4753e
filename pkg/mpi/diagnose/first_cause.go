package diagnose

import (
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// FirstCause returns what went wrong first, or nil when nothing shows a fault. Noted holds causes that were seen before and
// whose pods may be gone: those of an earlier pass. A node that failed before the launcher or in the same second wins: the
// launcher fails because of it. A launcher that itself blames a lost node, or that was told to stop, does not count beside
// a pod that was taken away. A pod that was taken away after the last launch does not count at all.
//
// JobSet deletes the pods of a failed job, and what a pod does that is being deleted is not a cause. A deletion is one itself
// when no other failure shows, see FirstDisruption.
func FirstCause(pods []Pod, noted []Cause) *Cause {
	causes := append(slices.DeleteFunc(podDisruptions(pods), func(c Cause) bool { return followsDeletion(c, noted) }), noted...)
	causes = slices.DeleteFunc(causes, func(c Cause) bool { return deletedAfterWork(c, pods) })
	known := len(causes) > 0
	for _, pod := range pods {
		if c := causeOfPod(pod, pods); c != nil && pod.Disruption == nil && (!known || !failedOfStopOrLostNode(pod)) {
			causes = append(causes, *c)
		}
	}
	if len(causes) == 0 {
		return nil
	}
	first := causes[0]
	for _, c := range causes[1:] {
		if isEarlierCause(c, first) {
			first = c
		}
	}
	return &first
}

// deletedAfterWork reports whether a pod was taken away when the nodes had done their work: the launcher's agent was not asked to stop, and no
// launch ran since.
func deletedAfterWork(c Cause, pods []Pod) bool {
	i := slices.IndexFunc(pods, Pod.isLauncher)
	if i < 0 || pods[i].mainEnd() == nil {
		return false
	}
	end := pods[i].mainEnd()
	verdict, err := mpi.DecodeVerdict(end.Message)
	done := end.At.Add(-time.Duration(verdict.IdleSeconds * float64(time.Second)))
	return err == nil && verdict.Stopped == "" && verdict.IdleSeconds > 0 && !c.At.Before(done)
}

// MustBeRecorded reports whether a cause has to be kept when it is seen, because the pod that shows it goes away.
func MustBeRecorded(reason mpi.Reason) bool {
	return slices.Contains([]mpi.Reason{PodDeleted, Evicted, Preempted, MachineLost}, reason) || slices.Contains(givenUpReasons, reason)
}

// forUser are the causes of a job that waits until its user mends the TrainJob, or makes an object that it names.
var forUser = []mpi.Reason{
	RuntimeNotFound, NameTaken, LimitRangeViolated, PodSecurityDenied, PolicyDenied, PodInvalid, ServiceAccountMissing,
	SecretMissing, ConfigMapMissing, VolumeClaimMissing, ImagePull, ContainerConfig, ContainerStartFailed,
	CrashLoopBackOff,
}

// IsForUser reports whether no waiting helps against a cause, because the user of the job has to do something.
func IsForUser(reason mpi.Reason) bool { return slices.Contains(forUser, reason) }

// givenUpReasons are the causes of pods that their Job gives up.
var givenUpReasons = []mpi.Reason{InitFailed, ContainerStartFailed, LauncherFailed, LauncherKilled, WorkerFailed, WorkerKilled, OOMKilled}

// NotedEarlier returns a cause that an earlier pass has seen and written down.
func NotedEarlier(c Cause, at time.Time) Cause {
	c.At, c.precedence = at, takenByControlPlane
	if c.Reason == PodDeleted {
		c.precedence = deletedByUnknown
	}
	return c
}

// FirstDisruption returns the first pod of a running job that the control plane, its Job or somebody takes away, or nil. It has to be noted
// (Remembered): a moment later the pod is gone, and nothing tells of it any more.
func FirstDisruption(pods []Pod) *Cause {
	var first *Cause
	for _, c := range podDisruptions(pods) {
		if first == nil || isEarlierCause(c, *first) {
			first = &c
		}
	}
	return first
}

// podDisruptions returns disruptions, how pods ended that were given up, and the deletions that were not a consequence.
func podDisruptions(pods []Pod) []Cause {
	var causes []Cause
	for _, pod := range pods {
		switch {
		case pod.Disruption != nil:
			causes = append(causes, *disruptionCause(pod, pods))
		case pod.GivenUp:
			causes = append(causes, *causeOfPod(pod, pods))
		case !pod.Deleted.IsZero() && !slices.ContainsFunc(pods, func(other Pod) bool { return causesDeletions(other, pod, pods) }):
			causes = append(causes, *deletionCause(pod))
		}
	}
	return causes
}

// sameFailureWithin is how much later a failure has to be than a deletion, so that it cannot be the reason for it: the clocks of
// machines differ, and JobSet takes a moment.
const sameFailureWithin = 5 * time.Second

// followsDeletion reports whether a deletion came with, or after, one that was noted, or the end of a pod that was given up: the pods of a
// failed job go one after the other, and once those are gone that show why, the last ones look as if somebody had deleted them. When
// it was noted is a little later than when it was.
func followsDeletion(c Cause, noted []Cause) bool {
	return c.precedence == deletedByUnknown && slices.ContainsFunc(noted, func(n Cause) bool {
		return MustBeRecorded(n.Reason) && n.At.Sub(c.At) <= sameFailureWithin
	})
}

// causesDeletions reports whether a pod ended in a way for which JobSet deletes other pods: it succeeded as the launcher, or failed
// for reasons of its own. Its end shows at the latest when the deletion does: both come by one watch, in order.
func causesDeletions(pod, deleted Pod, all []Pod) bool {
	if end := pod.mainEnd(); end != nil && pod.isLauncher() && end.Code == 0 {
		return true
	}
	cause := causeOfPod(pod, all)
	if cause == nil || pod.Disruption != nil {
		return false
	}
	if failedOfStopOrLostNode(pod) {
		return lostNodeBeforeDeletion(pod, deleted)
	}
	return cause.At.Sub(deleted.Deleted) <= sameFailureWithin
}

// lostNodeBeforeDeletion reports whether a launcher that failed because it lost a node did so before a pod was deleted: the deletion is
// then JobSet's answer. Of the lost node itself times decide, and in the same second it was deleted first: the connection to a
// pod that somebody deletes ends without a silence before. Of any other node it goes without saying.
func lostNodeBeforeDeletion(launcher, deleted Pod) bool {
	end := launcher.mainEnd()
	verdict, err := mpi.DecodeVerdict(end.Message)
	if err != nil || verdict.Stopped != "" {
		return false
	}
	if lost, found := podOfHost([]Pod{deleted}, verdict.Lost); !found || lost.Name != deleted.Name {
		return true
	}
	since := end.At.Add(-time.Duration(verdict.LostSeconds * float64(time.Second)))
	return since.Truncate(time.Second).Before(deleted.Deleted)
}

// failedOfStopOrLostNode reports whether the launcher failed because its own pod was told to stop, or because it lost a node.
func failedOfStopOrLostNode(pod Pod) bool {
	end := pod.mainEnd()
	if end == nil || !pod.isLauncher() {
		return false
	}
	verdict, err := mpi.DecodeVerdict(end.Message)
	return err == nil && (verdict.Stopped != "" || verdict.Lost != "")
}

func deletionCause(pod Pod) *Cause {
	return causeWithRemedy(PodDeleted, pod.fullName()+" was deleted while the job ran").withPod(pod).withTime(pod.Deleted, deletedByUnknown)
}

// rules give the cause that a pod shows, in the order of precedence.
var rules = []func(pod Pod, all []Pod) *Cause{disruptionCause, evictionCause, kubeletRejectionCause, initContainerCause, launcherVerdictCause, containerEndCause}

// causeOfPod returns what a pod shows. The end of a node that is being deleted shows nothing, unless it ran out of memory, and what a launcher
// says that is being deleted still counts.
func causeOfPod(pod Pod, all []Pod) *Cause {
	if pod.Disruption == nil && !pod.GivenUp && (!pod.Failed || !pod.Deleted.IsZero() && !pod.isLauncher() && !pod.ranOutOfMemory()) {
		return nil
	}
	for _, rule := range rules {
		if c := rule(pod, all); c != nil {
			return c
		}
	}
	return causeWithRemedy(fallbackReason(pod), pod.fullName()+" failed without a trace of its container").withPod(pod).withTime(pod.Started, launcherExited)
}
