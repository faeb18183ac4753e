package phase

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// JobSetToDelete reports whether the JobSet has to go, so that it can be made again: a restart is in the status, or the
// JobSet failed while it was being suspended. Then its launcher has lost its nodes a moment before it was ended itself.
// That is no failure of the job: Kueue would otherwise turn a preempted job into a failed one.
func (s Start) JobSetToDelete() bool {
	return job.AttemptOf(s.JobSet) < s.PublishedRestarts() || s.JobSetFailed() != nil && job.IsSuspended(s.JobSet)
}

// IsBeingRecreated reports whether the JobSet is ours and has to be made again now.
func (s Start) IsBeingRecreated() bool {
	return s.OwnsJobSet() && s.JobSet.Labels[mpi.TrainJobLabel] != "" && s.JobSetToDelete() && !s.SuspendWanted()
}

// HasRestarted reports whether the JobSet of the last restart exists.
func (s Start) HasRestarted() bool {
	return s.OwnsJobSet() && job.AttemptOf(s.JobSet) >= s.PublishedRestarts()
}

// SuspensionPending reports whether the JobSet is suspended and has not suspended its Jobs yet, or a pod may still run.
// It is resumed after that: otherwise only some of its pods would be gone. A Job that learns late of its suspension would
// delete pods of a running job without a trace of why, and a new launcher would find by DNS an old node that is about to
// end, and start its ranks there.
func (s Start) SuspensionPending() bool {
	if !job.IsSuspended(s.JobSet) || s.SuspendWanted() {
		return false
	}
	noted := job.TrueCondition(s.JobSet, jobset.JobSetSuspended) != nil
	return !noted && len(s.All) > 0 || slices.ContainsFunc(s.All, s.mayStillRun)
}

// mayStillRun reports whether a pod has not ended. A pod long past its grace is on a machine that is silent.
func (s Start) mayStillRun(pod *corev1.Pod) bool {
	return !observe.IsTerminal(pod) && (pod.DeletionTimestamp == nil || s.untilGivenUp(pod) > 0)
}

// untilGivenUp is how long a pod that is being deleted is still waited for.
func (s Start) untilGivenUp(pod *corev1.Pod) time.Duration {
	return pod.DeletionTimestamp.Add(podsGoneWithin).Sub(s.Now)
}
