package view

import (
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

func (s *jobView) condition(kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(s.conditions, kind)
}

func (s *jobView) conditionIsTrue(kind string) bool {
	return apimeta.IsStatusConditionTrue(s.conditions, kind)
}

func hasCondition(conditions []metav1.Condition, kind string) bool {
	return apimeta.FindStatusCondition(conditions, kind) != nil
}

// findPhase is where the job is, by what the controller has told; pods only say how far one is that does not run yet.
func (s *jobView) findPhase() (phase.Phase, *metav1.Time) {
	switch {
	case s.conditionIsTrue(trainer.TrainJobComplete):
		return phase.Complete, s.conditionTime(trainer.TrainJobComplete)
	case s.conditionIsTrue(trainer.TrainJobFailed):
		return s.failedPhase(), s.conditionTime(trainer.TrainJobFailed)
	case s.hasJobSetEnded():
		return phase.Stopping, nil
	case ptr.Deref(s.TrainJob.Spec.Suspend, false):
		return s.suspendedPhase(), s.conditionTime(trainer.TrainJobSuspended)
	case s.conditionIsTrue(job.Restarting):
		return phase.Restarting, s.conditionTime(job.Restarting)
	case s.executor != Stock && s.conditionIsTrue(job.Running):
		return phase.Running, s.conditionTime(job.Running)
	case s.executor == Controller && !s.conditionIsTrue(job.Created):
		return phase.Creating, s.conditionTime(job.Created)
	case s.isResuming():
		return phase.Creating, s.conditionTime(job.PodsReady)
	case s.JobSet == nil && s.executor == Stock && len(s.Jobs) == 0:
		return phase.Creating, ptr.To(s.TrainJob.CreationTimestamp)
	}
	return s.startedPhase()
}

// isResuming reports whether a job that was suspended waits to get its pods again.
func (s *jobView) isResuming() bool {
	c := s.condition(job.Running)
	return c != nil && c.Status == metav1.ConditionFalse && mpi.Reason(c.Reason) == job.ReasonSuspended
}

// conditionTime is when a condition last changed, or nil.
func (s *jobView) conditionTime(kind string) *metav1.Time {
	if c := s.condition(kind); c != nil && !c.LastTransitionTime.IsZero() {
		return &c.LastTransitionTime
	}
	return nil
}

// failedPhase tells a job that ended before anything was made of it from one that ran. Kubeflow Trainer makes a JobSet of every job.
func (s *jobView) failedPhase() phase.Phase {
	made := s.executor != Controller || s.conditionIsTrue(job.Created) || s.JobSet != nil ||
		len(s.TrainJob.Status.JobsStatus) > 0
	return phase.AtEnd(mpi.Reason(s.condition(trainer.TrainJobFailed).Reason), false, made)
}

// hasJobSetEnded reports whether the JobSet has ended and the job has not been told so yet.
func (s *jobView) hasJobSetEnded() bool {
	return s.JobSet != nil && !ptr.Deref(s.TrainJob.Spec.Suspend, false) &&
		(job.TrueCondition(s.JobSet, jobset.JobSetFailed) != nil || job.TrueCondition(s.JobSet, jobset.JobSetCompleted) != nil)
}

func (s *jobView) suspendedPhase() phase.Phase {
	c := s.condition(trainer.TrainJobSuspended)
	evicted := c != nil && c.Status == metav1.ConditionTrue && slices.Contains([]mpi.Reason{diagnose.Preempted, diagnose.Evicted}, mpi.Reason(c.Reason))
	switch {
	case len(s.all) > 0 || s.activePods() > 0:
		return phase.Stopping
	case evicted:
		return phase.Preempted
	case queueName(s.TrainJob) != "":
		return phase.Queued
	}
	return phase.Suspended
}

// startedPhase is the phase of a job whose JobSet exists and that nobody says to run.
func (s *jobView) startedPhase() (phase.Phase, *metav1.Time) {
	since := s.conditionTime(job.PodsReady)
	if since == nil && s.JobSet != nil {
		since = &s.JobSet.CreationTimestamp
	}
	if !s.PodsRead {
		return s.startedPhaseWithoutPods(), since
	}
	pods := s.currentPods()
	switch {
	case len(pods) < s.wantedPods() || !observe.ArePlaced(pods):
		return phase.Scheduling, since
	case !observe.WereReadyOnce(pods):
		return phase.Pulling, since
	case s.executor == Stock:
		return phase.Running, nil // nobody waits in a gate, and nobody says more
	}
	return phase.Starting, since
}

// inPulling are the reasons of pods that have machines and do not run.
var inPulling = []mpi.Reason{
	diagnose.ImagePull, diagnose.ContainerConfig, diagnose.SecretMissing, diagnose.ConfigMapMissing, diagnose.VolumeFailed,
}

// startedPhaseWithoutPods is the same without pods. A job whose pods have machines and nothing to complain about is Scheduling then, not Pulling.
func (s *jobView) startedPhaseWithoutPods() phase.Phase {
	ready := s.condition(job.PodsReady)
	switch count := s.countReady(); {
	case ready != nil && ready.Status == metav1.ConditionFalse && slices.Contains(inPulling, mpi.Reason(ready.Reason)):
		return phase.Pulling
	case count != nil && count.Ready >= count.Want && s.executor == Stock:
		return phase.Running
	case s.conditionIsTrue(job.PodsReady), count != nil && count.Ready >= count.Want:
		return phase.Starting
	}
	return phase.Scheduling
}

// currentPods are the pods that are there to stay.
func (s *jobView) currentPods() []*corev1.Pod { return observe.CurrentPods(s.all) }

// wantedPods is how many pods there should be.
func (s *jobView) wantedPods() int {
	if s.JobSet != nil {
		return job.CountPods(s.JobSet)
	}
	total := 0
	for i := range s.Jobs {
		total += int(ptr.Deref(s.Jobs[i].Spec.Parallelism, 1))
	}
	return total
}

// activePods is how many pods the Jobs still have.
func (s *jobView) activePods() (total int32) {
	for i := range s.Jobs {
		total += s.Jobs[i].Status.Active
	}
	return total
}

// countReady returns how many pods are ready, nil where nobody says.
func (s *jobView) countReady() *PodCount {
	switch {
	case s.PodsRead && s.JobSet != nil:
		return &PodCount{Ready: min(observe.CountReadyOnce(s.currentPods()), s.wantedPods()), Want: s.wantedPods()}
	case len(s.Jobs) > 0:
		ready := 0
		for i := range s.Jobs {
			ready += readyPodsOf(&s.Jobs[i])
		}
		return &PodCount{Ready: min(ready, s.wantedPods()), Want: s.wantedPods()}
	case s.world != nil:
		pods := mpi.World{Nodes: s.world.Nodes, SlotsPerNode: s.world.SlotsPerNode, LauncherRunsRanks: s.world.LauncherRunsRanks}.Pods()
		return &PodCount{Want: int(pods)}
	}
	return nil
}

// readyPodsOf counts pods that are ready or have succeeded, as observe.CountReadyOnce does.
func readyPodsOf(j *batchv1.Job) int {
	return int(ptr.Deref(j.Status.Ready, 0) + j.Status.Succeeded + j.Status.Failed)
}
