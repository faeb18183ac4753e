package phase

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// Phase is where a job is in its life. A job is in one phase at a time. The empty Phase is that of a TrainJob that is not for us, or of
// which nothing is known yet.
//
//	Creating ─► Scheduling ─► Pulling ─► Starting ─► Running ─► Complete or Failed
//	   │            └────────────┴──────────┴───────────┴─► Restarting ─► Creating
//	   ├─► Refused  └────────────┴──────────┴───────────┴─► Stopping ─► Queued, Suspended or Preempted ─► Scheduling
type Phase string

// The phases. STATE is the word that kubectl shows in its column of that name, and that clients of Kubeflow know (see Phase.State).
const (
	// Refused: the job ended before anything was made of it: what it asks for cannot be, and the user has to change that. STATE: Failed.
	Refused Phase = "Refused"
	// Queued: the job waits in a queue of Kueue, and has no pods. STATE: Suspended.
	Queued Phase = "Queued"
	// Suspended: a user holds the job back, and it has no pods. STATE: Suspended.
	Suspended Phase = "Suspended"
	// Preempted: Kueue has taken the room of the job for another one, or evicted it; it waits to be admitted again. STATE: Suspended.
	Preempted Phase = "Preempted"
	// Stopping: the pods of a suspended job are being taken away, or the job has ended and its pods do not yet show why. STATE is that
	// of the phase before, or of the one that follows.
	Stopping Phase = "Stopping"
	// Creating: the objects of the job are being made, or wait for what they need: a runtime, a quota, a volume. STATE: Created.
	Creating Phase = "Creating"
	// Scheduling: pods are missing, or have no machines yet. STATE: Created.
	Scheduling Phase = "Scheduling"
	// Pulling: all pods have machines, and images are pulled, volumes mounted, containers started. STATE: Created.
	Pulling Phase = "Pulling"
	// Starting: all pods run, and the launcher waits in its gate until all nodes answer. STATE: Created.
	Starting Phase = "Starting"
	// Running: all nodes answered, and the command of the user runs. STATE is empty, as under Kubeflow Trainer.
	Running Phase = "Running"
	// Restarting: a fault of the infrastructure ended the job, and it is being started again. STATE: Restarting.
	Restarting Phase = "Restarting"
	// Complete: the launcher succeeded. Final. STATE: Complete.
	Complete Phase = "Complete"
	// Failed: the job failed. Final. STATE: Failed.
	Failed Phase = "Failed"
)

// AllPhases lists the phases.
func AllPhases() []Phase {
	return []Phase{Refused, Queued, Suspended, Preempted, Stopping, Creating, Scheduling, Pulling,
		Starting, Running, Restarting, Complete, Failed}
}

// meanings are those of the constants, for people who run jobs.
var meanings = map[Phase]string{
	Refused:    "the job ended before anything was made of it: what it asks for cannot be, and the user has to change that",
	Queued:     "the job waits in a queue of Kueue, and has no pods",
	Suspended:  "a user holds the job back, and it has no pods: `kubectl mpi resume` lets it run",
	Preempted:  "Kueue has taken the room of the job for another one, or evicted it; it waits to be admitted again",
	Stopping:   "the pods of a suspended job are being taken away, or the job has ended and its pods do not yet show why",
	Creating:   "the objects of the job are being made, or wait for what they need: a runtime, a quota, a volume",
	Scheduling: "pods are missing, or have no machines yet",
	Pulling:    "all pods have machines; images are pulled, volumes mounted, containers started",
	Starting:   "all pods run, and the launcher waits until all nodes answer",
	Running:    "all nodes answered, and the command of the user runs",
	Restarting: "a fault of the infrastructure ended the job, and it is being started again",
	Complete:   "the launcher succeeded; the job is over",
	Failed:     "the job failed, and is over: the reason says why",
}

// Meaning says in a line what a phase is.
func (p Phase) Meaning() string { return meanings[p] }

// State returns the word of Kubeflow Trainer's API for a phase, as kubectl shows it in its column STATE: the type of the condition that the
// status shows. It is empty for Running, and for Stopping, which has the word of the phase before.
func (p Phase) State() string {
	switch p {
	case Creating, Scheduling, Pulling, Starting:
		return job.Created
	case Queued, Suspended, Preempted:
		return trainer.TrainJobSuspended
	case Restarting:
		return job.Restarting
	case Complete:
		return trainer.TrainJobComplete
	case Refused, Failed:
		return trainer.TrainJobFailed
	}
	return ""
}

// AtEnd is the phase of a job that a terminal condition, or this pass, ends. Made says that its objects were made.
func AtEnd(reason mpi.Reason, succeeded, made bool) Phase {
	switch {
	case succeeded:
		return Complete
	case made, reason == diagnose.DeadlineExceeded, reason == diagnose.GangTimeout:
		return Failed
	}
	return Refused
}

// publishedEndPhase is the phase of a job whose end its status tells.
func (f *Facts) publishedEndPhase() Phase {
	if failed := f.PublishedCondition(trainer.TrainJobFailed); failed != nil && !f.HasPublishedCondition(trainer.TrainJobComplete) {
		return AtEnd(mpi.Reason(failed.Reason), false, f.WasJobSetMade())
	}
	return Complete
}

// suspendedPhase is the phase of a job that is to be suspended.
func (f *Facts) suspendedPhase() Phase {
	c := f.PublishedCondition(trainer.TrainJobSuspended)
	evicted := f.HasPublishedCondition(trainer.TrainJobSuspended) && (c.Reason == string(diagnose.Preempted) || c.Reason == string(diagnose.Evicted))
	switch {
	case len(f.All) > 0:
		return Stopping
	case f.Eviction != nil, evicted:
		return Preempted
	case f.TrainJob.Labels[kueue.QueueLabel] != "":
		return Queued
	}
	return Suspended
}

func (f *Facts) suspendedPhaseOr(p Phase) Phase {
	if f.SuspendWanted() {
		return f.suspendedPhase()
	}
	return p
}

// startedPhase is the phase of a job whose JobSet runs.
func (f *Facts) startedPhase() Phase {
	switch {
	case f.LaunchStep() == LaunchRuns:
		return Running
	case len(f.Current) < f.Want || !observe.ArePlaced(f.Current):
		return Scheduling
	case !observe.WereReadyOnce(f.Current):
		return Pulling
	}
	return Starting
}
