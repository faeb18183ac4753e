package phase

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// JobSetEnds reports whether the JobSet has finished, or will in a moment, or the time of the job is over.
func (f *Facts) JobSetEnds() bool {
	return f.OwnsJobSet() && (f.JobSetEnded() || !f.SuspendWanted() && f.earlyEnd() != nil)
}

// NeedsChildren reports whether a decision may need Children and what else is read from the API server: the job is to be made,
// resumed, restarted or ended.
func (f *Facts) NeedsChildren() bool {
	if f.Beside {
		if job.IsFinished(f.TrainJob) {
			return !f.EndPublished() || f.KeyMayComeBack()
		}
		return f.LacksPolicies()
	}
	return !f.OwnsJobSet() || job.IsSuspended(f.JobSet) || f.JobSetEnds() || f.JobSetGone() || f.stuckEnd() != nil
}

// NeedsBounds reports whether a decision may need the quotas and limits of the namespace: before the first pod and when a job is resumed, or
// where Kubeflow Trainer's pods do not come.
func (f *Facts) NeedsBounds() bool {
	if f.Beside {
		return f.HasMissingPods()
	}
	return !f.OwnsJobSet() || f.IsResuming()
}

// HasMissingPods reports whether a started job lacks pods for longer than it takes to create them, which is when warnings
// matter.
func (f *Facts) HasMissingPods() bool {
	return f.OwnsJobSet() && !job.IsSuspended(f.JobSet) && !f.JobSetEnds() &&
		f.FactAge(observe.FactRuns, f.JobSet.UID) > podsExpectedWithin && len(f.Current) < f.Want
}

// HasUnmountedVolumes reports whether a pod has a machine but no address for longer than a kubelet takes to mount volumes and to connect it,
// which is when warnings matter, too: nothing in its status says what is missing.
func (f *Facts) HasUnmountedVolumes() bool {
	return f.OwnsJobSet() && !job.IsSuspended(f.JobSet) && !f.JobSetEnds() && f.FactAge(observe.FactPlaced, f.JobSet.UID) > mountExpectedWithin && f.hasPodWithoutAddress()
}

func (f *Facts) hasPodWithoutAddress() bool {
	return slices.ContainsFunc(f.Current, func(pod *corev1.Pod) bool { return observe.StageOf(pod) == observe.StagePlaced })
}

// IsUnexplained reports whether the job failed because it lost a worker and no pod shows why. Warnings may then: of a pod that it
// evicts because of the size of a volume kubelet says so in an event only, and the pod ends as if it had succeeded.
func (f *Facts) IsUnexplained() bool {
	if !f.OwnsJobSet() || f.JobSetFailed() == nil {
		return false
	}
	cause := f.cause()
	return cause != nil && cause.MayBeEviction()
}

// LosesPods reports whether somebody seems to have deleted pods of a job that goes on, of which its status does not tell yet. The JobSet
// may have been suspended: its watch may bring that later than the watch of pods brings what it has led to.
func LosesPods(o observe.Observed) bool {
	if !slices.ContainsFunc(o.Pods, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }) {
		return false // as in nearly every pass, of jobs that may have thousands of pods
	}
	if !o.OwnsJobSet() || o.JobSetEnded() || len(o.PublishedPodLoss()) > 0 {
		return false
	}
	lost := DeriveFacts(o).PodDisruption()
	return lost != nil && lost.Reason == diagnose.PodDeleted
}

// SuspensionPending reports whether the JobSet is suspended, and JobSet has not told its Jobs yet, or a pod may still run. It is resumed after
// that: otherwise some of its pods would be gone and others not, a Job that learns late of its suspension would delete pods of a job that goes on,
// with nothing that says why, and a new launcher would find by DNS an old node that is about to end, and start its ranks there.
func (f *Facts) SuspensionPending() bool {
	if !job.IsSuspended(f.JobSet) || f.SuspendWanted() {
		return false
	}
	told := job.TrueCondition(f.JobSet, jobset.JobSetSuspended) != nil
	return !told && len(f.All) > 0 || slices.ContainsFunc(f.All, f.mayStillRun)
}

// mayStillRun reports whether a pod has not ended. One that is long past its grace is on a machine that does not tell any more.
func (f *Facts) mayStillRun(pod *corev1.Pod) bool {
	return !observe.IsTerminal(pod) && (pod.DeletionTimestamp == nil || f.untilGivenUp(pod) > 0)
}

// untilGivenUp is how long a pod that is being deleted is still waited for.
func (f *Facts) untilGivenUp(pod *corev1.Pod) time.Duration {
	return pod.DeletionTimestamp.Add(podsGoneWithin).Sub(f.Now)
}
