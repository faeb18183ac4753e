package phase

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// NeedsChildren reports whether a decision may need Children and what else is read from the API server: the job is to be made,
// resumed, restarted or ended.
func (f *Facts) NeedsChildren() bool {
	if f.Beside {
		if job.IsFinished(f.TrainJob) {
			return !f.EndPublished() || f.End.KeyMayComeBack()
		}
		return f.LacksPolicies()
	}
	return !f.OwnsJobSet() || job.IsSuspended(f.JobSet) || f.End.JobSetEnds() || f.JobSetGone() || f.End.stuckEnd() != nil
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
	return f.OwnsJobSet() && !job.IsSuspended(f.JobSet) && !f.End.JobSetEnds() &&
		f.FactAge(observe.FactRuns, f.JobSet.UID) > podsExpectedWithin && len(f.Current) < f.Want
}

// HasUnmountedVolumes reports whether a pod has a machine but no address for longer than a kubelet takes to mount volumes and to connect it,
// which is when warnings matter, too: nothing in its status says what is missing.
func (f *Facts) HasUnmountedVolumes() bool {
	return f.OwnsJobSet() && !job.IsSuspended(f.JobSet) && !f.End.JobSetEnds() && f.FactAge(observe.FactPlaced, f.JobSet.UID) > mountExpectedWithin && f.Start.hasPodWithoutAddress()
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
	lost := DeriveFacts(o).Run.PodDisruption()
	return lost != nil && lost.Reason == diagnose.PodDeleted
}
