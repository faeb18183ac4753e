package view

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
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

// findPhase takes the phase from the record. The record lags behind a job that has just been suspended, and pods tell
// more of a job that does not run yet.
func (s *jobView) findPhase() (jobv1.Phase, *metav1.Time) {
	isStarting := slices.Contains([]jobv1.Phase{jobv1.Scheduling, jobv1.Pulling, jobv1.Starting}, s.record.Phase)
	switch {
	case ptr.Deref(s.TrainJob.Spec.Suspend, false) && (isStarting || s.record.Phase == jobv1.Running):
		return s.phaseWithoutRecord()
	case s.record.Phase != "" && s.hasJobSetEnded() && !s.isOver():
		return jobv1.Stopping, nil
	case s.record.Phase != "" && (!isStarting || !s.PodsRead || s.JobSet == nil):
		return s.record.Phase, nilIfZero(s.record.Since)
	case isStarting:
		return s.startedPhase()
	}
	return s.phaseWithoutRecord()
}

func (s *jobView) isOver() bool {
	return s.conditionIsTrue(trainer.TrainJobComplete) || s.conditionIsTrue(trainer.TrainJobFailed)
}

// phaseWithoutRecord is the phase of a job that Kubeflow Trainer runs alone, or that our controller has not yet taken.
func (s *jobView) phaseWithoutRecord() (jobv1.Phase, *metav1.Time) {
	switch {
	case s.conditionIsTrue(trainer.TrainJobComplete):
		return jobv1.Complete, s.conditionTime(trainer.TrainJobComplete)
	case s.conditionIsTrue(trainer.TrainJobFailed):
		return s.failedPhase(), s.conditionTime(trainer.TrainJobFailed)
	case s.hasJobSetEnded():
		return jobv1.Stopping, nil
	case ptr.Deref(s.TrainJob.Spec.Suspend, false):
		return s.suspendedPhase(), s.conditionTime(trainer.TrainJobSuspended)
	case s.JobSet == nil && len(s.Jobs) == 0:
		return jobv1.Creating, ptr.To(s.TrainJob.CreationTimestamp)
	}
	return s.startedPhase()
}

// conditionTime is when a condition last changed, or nil.
func (s *jobView) conditionTime(kind string) *metav1.Time {
	if c := s.condition(kind); c != nil && !c.LastTransitionTime.IsZero() {
		return &c.LastTransitionTime
	}
	return nil
}

// failedPhase tells a job that ended before anything was made of it from one that ran. Kubeflow Trainer makes a JobSet of every job.
func (s *jobView) failedPhase() jobv1.Phase {
	made := s.executor != jobv1.Controller || s.conditionIsTrue(job.Created) || s.JobSet != nil ||
		len(s.TrainJob.Status.JobsStatus) > 0
	return phase.AtEnd(mpi.Reason(s.condition(trainer.TrainJobFailed).Reason), false, made)
}

// hasJobSetEnded reports whether the JobSet has ended and the job has not been told so yet.
func (s *jobView) hasJobSetEnded() bool {
	return s.JobSet != nil && !ptr.Deref(s.TrainJob.Spec.Suspend, false) &&
		(job.TrueCondition(s.JobSet, jobset.JobSetFailed) != nil || job.TrueCondition(s.JobSet, jobset.JobSetCompleted) != nil)
}

func (s *jobView) suspendedPhase() jobv1.Phase {
	c := s.condition(trainer.TrainJobSuspended)
	evicted := c != nil && c.Status == metav1.ConditionTrue && slices.Contains([]mpi.Reason{diagnose.Preempted, diagnose.Evicted}, mpi.Reason(c.Reason))
	switch {
	case len(s.all) > 0 || s.activePods() > 0:
		return jobv1.Stopping
	case evicted:
		return jobv1.Preempted
	case queueName(s.TrainJob) != "":
		return jobv1.Queued
	}
	return jobv1.Suspended
}

// startedPhase is the phase of a job whose JobSet exists and that nobody says to run.
func (s *jobView) startedPhase() (jobv1.Phase, *metav1.Time) {
	since := s.conditionTime(job.PodsReady)
	if since == nil && s.JobSet != nil {
		since = &s.JobSet.CreationTimestamp
	}
	// A resumed job begins anew: the condition was false all the time.
	if resumed := s.conditionTime(trainer.TrainJobSuspended); resumed != nil && since.Before(resumed) {
		since = resumed
	}
	if !s.PodsRead {
		return s.startedPhaseWithoutPods(), since
	}
	pods := s.currentPods()
	switch {
	case len(pods) < s.wantedPods() || !observe.ArePlaced(pods):
		return jobv1.Scheduling, since
	case !observe.WereReadyOnce(pods):
		return jobv1.Pulling, since
	case s.executor == jobv1.Stock:
		return jobv1.Running, nil // nobody waits in a gate, and nobody says more
	}
	return jobv1.Starting, since
}

// inPulling are the reasons of pods that have machines and do not run.
var inPulling = []mpi.Reason{
	diagnose.ImagePull, diagnose.ContainerConfig, diagnose.SecretMissing, diagnose.ConfigMapMissing, diagnose.VolumeFailed,
}

// startedPhaseWithoutPods is the same without pods. A job whose pods have machines and nothing to complain about is Scheduling then, not Pulling.
func (s *jobView) startedPhaseWithoutPods() jobv1.Phase {
	ready := s.condition(job.PodsReady)
	switch count := s.countReady(); {
	case ready != nil && ready.Status == metav1.ConditionFalse && slices.Contains(inPulling, mpi.Reason(ready.Reason)):
		return jobv1.Pulling
	case count != nil && count.Ready >= count.Want && s.executor == jobv1.Stock:
		return jobv1.Running
	case s.conditionIsTrue(job.PodsReady), count != nil && count.Ready >= count.Want:
		return jobv1.Starting
	}
	return jobv1.Scheduling
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
func (s *jobView) countReady() *jobv1.Pods {
	switch {
	case s.PodsRead && s.JobSet != nil:
		return &jobv1.Pods{Ready: min(observe.CountReadyOnce(s.currentPods()), s.wantedPods()), Want: s.wantedPods()}
	case len(s.Jobs) > 0:
		ready := 0
		for i := range s.Jobs {
			ready += readyPodsOf(&s.Jobs[i])
		}
		return &jobv1.Pods{Ready: min(ready, s.wantedPods()), Want: s.wantedPods()}
	case s.world != nil:
		pods := mpi.World{Nodes: s.world.Nodes, SlotsPerNode: s.world.SlotsPerNode, LauncherRunsRanks: s.world.LauncherRunsRanks}.Pods()
		return &jobv1.Pods{Want: int(pods)}
	}
	return nil
}

// readyPodsOf counts pods that are ready or have succeeded, as observe.CountReadyOnce does.
func readyPodsOf(j *batchv1.Job) int {
	return int(ptr.Deref(j.Status.Ready, 0) + j.Status.Succeeded + j.Status.Failed)
}
