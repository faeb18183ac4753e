package phase

import (
	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// AtEnd is the phase of a job that a terminal condition, or this pass, ends. Made says that its objects were made.
func AtEnd(reason mpi.Reason, succeeded, made bool) jobv1.Phase {
	switch {
	case succeeded:
		return jobv1.Complete
	case made, diagnose.IsDataReason(reason), reason == diagnose.DeadlineExceeded, reason == diagnose.GangTimeout:
		return jobv1.Failed
	}
	return jobv1.Refused
}

// publishedEndPhase is the phase of a job whose end its status tells.
func (f *Facts) publishedEndPhase() jobv1.Phase {
	if failed := f.PublishedCondition(trainer.TrainJobFailed); failed != nil && !f.HasPublishedCondition(trainer.TrainJobComplete) {
		return AtEnd(mpi.Reason(failed.Reason), false, f.WasJobSetMade())
	}
	return jobv1.Complete
}

// suspendedPhase is the phase of a job that is to be suspended.
func (f *Facts) suspendedPhase() jobv1.Phase {
	switch {
	case len(f.All) > 0:
		return jobv1.Stopping
	case f.Eviction != nil, f.IsEvicted():
		return jobv1.Preempted
	case f.TrainJob.Labels[kueue.QueueLabel] != "":
		return jobv1.Queued
	}
	return jobv1.Suspended
}

func (f *Facts) suspendedPhaseOr(p jobv1.Phase) jobv1.Phase {
	if f.SuspendWanted() {
		return f.suspendedPhase()
	}
	return p
}
