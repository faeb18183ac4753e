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

func (s *subject) told(kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(s.conditions, kind)
}

func (s *subject) toldTrue(kind string) bool {
	return apimeta.IsStatusConditionTrue(s.conditions, kind)
}

func hasCondition(conditions []metav1.Condition, kind string) bool {
	return apimeta.FindStatusCondition(conditions, kind) != nil
}

// phase is where the job is, by what the controller has told; pods only say how far one is that does not run yet.
func (s *subject) phase() (phase.Phase, *metav1.Time) {
	switch {
	case s.toldTrue(trainer.TrainJobComplete):
		return phase.Complete, s.at(trainer.TrainJobComplete)
	case s.toldTrue(trainer.TrainJobFailed):
		return s.failed(), s.at(trainer.TrainJobFailed)
	case s.ended():
		return phase.Stopping, nil
	case ptr.Deref(s.TrainJob.Spec.Suspend, false):
		return s.suspended(), s.at(trainer.TrainJobSuspended)
	case s.toldTrue(job.Restarting):
		return phase.Restarting, s.at(job.Restarting)
	case s.executor != Stock && s.toldTrue(job.Running):
		return phase.Running, s.at(job.Running)
	case s.executor == Controller && !s.toldTrue(job.Created):
		return phase.Creating, s.at(job.Created)
	case s.resuming():
		return phase.Creating, s.at(job.PodsReady)
	case s.JobSet == nil && s.executor == Stock && len(s.Jobs) == 0:
		return phase.Creating, ptr.To(s.TrainJob.CreationTimestamp)
	}
	return s.started()
}

// resuming reports whether a job that was suspended waits to get its pods again.
func (s *subject) resuming() bool {
	c := s.told(job.Running)
	return c != nil && c.Status == metav1.ConditionFalse && mpi.Reason(c.Reason) == job.ReasonSuspended
}

// at is when a condition last changed, or nil.
func (s *subject) at(kind string) *metav1.Time {
	if c := s.told(kind); c != nil && !c.LastTransitionTime.IsZero() {
		return &c.LastTransitionTime
	}
	return nil
}

// failed tells a job that ended before anything was made of it from one that ran. Kubeflow Trainer makes a JobSet of every job.
func (s *subject) failed() phase.Phase {
	made := s.executor != Controller || s.toldTrue(job.Created) || s.JobSet != nil
	return phase.PhaseOfEnd(mpi.Reason(s.told(trainer.TrainJobFailed).Reason), false, made)
}

// ended reports whether the JobSet has ended and the job has not been told so yet.
func (s *subject) ended() bool {
	return s.JobSet != nil && !ptr.Deref(s.TrainJob.Spec.Suspend, false) &&
		(job.TrueCondition(s.JobSet, jobset.JobSetFailed) != nil || job.TrueCondition(s.JobSet, jobset.JobSetCompleted) != nil)
}

func (s *subject) suspended() phase.Phase {
	c := s.told(trainer.TrainJobSuspended)
	evicted := c != nil && c.Status == metav1.ConditionTrue && slices.Contains([]mpi.Reason{diagnose.Preempted, diagnose.Evicted}, mpi.Reason(c.Reason))
	switch {
	case len(s.all) > 0 || s.active() > 0:
		return phase.Stopping
	case evicted:
		return phase.Preempted
	case queueName(s.TrainJob) != "":
		return phase.Queued
	}
	return phase.Suspended
}

// started is the phase of a job whose JobSet exists and that nobody says to run.
func (s *subject) started() (phase.Phase, *metav1.Time) {
	since := s.at(job.PodsReady)
	if since == nil && s.JobSet != nil {
		since = &s.JobSet.CreationTimestamp
	}
	if !s.PodsRead {
		return s.startedUnseen(), since
	}
	pods := s.current()
	switch {
	case len(pods) < s.want() || !observe.ArePlaced(pods):
		return phase.Scheduling, since
	case !observe.AreReady(pods):
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

// startedUnseen is the same without pods. A job whose pods have machines and nothing to complain about is Scheduling then, not Pulling.
func (s *subject) startedUnseen() phase.Phase {
	ready := s.told(job.PodsReady)
	switch count := s.count(); {
	case ready != nil && ready.Status == metav1.ConditionFalse && slices.Contains(inPulling, mpi.Reason(ready.Reason)):
		return phase.Pulling
	case count != nil && count.Ready >= count.Want && s.executor == Stock:
		return phase.Running
	case s.toldTrue(job.PodsReady), count != nil && count.Ready >= count.Want:
		return phase.Starting
	}
	return phase.Scheduling
}

// current are the pods that are there to stay.
func (s *subject) current() []*corev1.Pod { return observe.CurrentPods(s.all) }

// want is how many pods there should be.
func (s *subject) want() int {
	if s.JobSet != nil {
		return job.CountPods(s.JobSet)
	}
	total := 0
	for i := range s.Jobs {
		total += int(ptr.Deref(s.Jobs[i].Spec.Parallelism, 1))
	}
	return total
}

// active is how many pods the Jobs still have.
func (s *subject) active() (total int32) {
	for i := range s.Jobs {
		total += s.Jobs[i].Status.Active
	}
	return total
}

// count returns how many pods are ready, nil where nobody says.
func (s *subject) count() *Count {
	switch {
	case s.PodsRead && s.JobSet != nil:
		return &Count{Ready: min(observe.CountReady(s.current()), s.want()), Want: s.want()}
	case len(s.Jobs) > 0:
		ready := 0
		for i := range s.Jobs {
			ready += readyIn(&s.Jobs[i])
		}
		return &Count{Ready: min(ready, s.want()), Want: s.want()}
	case s.world != nil:
		pods := mpi.World{Nodes: s.world.Nodes, SlotsPerNode: s.world.SlotsPerNode, LauncherRunsRanks: s.world.LauncherRunsRanks}.Pods()
		return &Count{Want: int(pods)}
	}
	return nil
}

// readyIn counts pods that are ready or have succeeded, as observe.CountReady does.
func readyIn(j *batchv1.Job) int {
	return int(ptr.Deref(j.Status.Ready, 0) + j.Status.Succeeded + j.Status.Failed)
}
