package phase

import (
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// Verdict returns what the agent of the launcher says about the run, or nil.
func (f *Facts) Verdict() *mpi.Verdict {
	if !f.OwnsJobSet() {
		return nil
	}
	launcher := observe.LauncherOf(f.All)
	if launcher == nil {
		return nil
	}
	for _, status := range launcher.Status.ContainerStatuses {
		if end := status.State.Terminated; status.Name == mpi.Container && end != nil {
			if verdict, err := mpi.DecodeVerdict(end.Message); err == nil {
				return &verdict
			}
		}
	}
	return nil
}

// HasCommandStarted reports whether the launcher's agent tells that it started the command.
func (f *Facts) HasCommandStarted() bool {
	verdict := f.Verdict()
	return verdict != nil && verdict.Timings != nil && verdict.Timings.CommandSeconds != nil
}

// StartTimes are how long a job waited on the way to its first rank, as this process saw it.
type StartTimes struct {
	// Queued is from the creation of the TrainJob, to the second, until its JobSet was there and not suspended.
	Queued time.Duration
	// Gang is from then until all pods had machines, Start from then until all were ready.
	Gang, Start time.Duration
}

// StartTimes returns nil for a job that is not ready, or that this process did not see from the beginning.
func (f *Facts) StartTimes() *StartTimes {
	if !f.OwnsJobSet() {
		return nil
	}
	runs, begun := f.FactSince(observe.FactRuns, f.JobSet.UID)
	placed, all := f.FactSince(observe.FactPlaced, f.JobSet.UID)
	ready, up := f.FactSince(observe.FactReady, f.JobSet.UID)
	if !begun || !all || !up {
		return nil
	}
	return &StartTimes{Queued: runs.Sub(f.TrainJob.CreationTimestamp.Time), Gang: placed.Sub(runs), Start: ready.Sub(placed)}
}
