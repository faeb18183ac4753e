package phase

import (
	"time"

	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// StartTimes are how long a job waited on the way to its first rank, as this process saw it.
type StartTimes struct {
	// Queued is from the creation of the TrainJob, to the second, until its JobSet was there and not suspended.
	Queued time.Duration
	// Gang is from then until all pods had machines, Start from then until all were ready.
	Gang, Start time.Duration
}

// Times returns nil for a job that is not ready, or that this process did not see from the beginning.
func (s Start) Times() *StartTimes {
	if !s.OwnsJobSet() {
		return nil
	}
	runs, begun := s.FactSince(observe.FactRuns, s.JobSet.UID)
	placed, all := s.FactSince(observe.FactPlaced, s.JobSet.UID)
	ready, up := s.FactSince(observe.FactReady, s.JobSet.UID)
	if !begun || !all || !up {
		return nil
	}
	return &StartTimes{Queued: runs.Sub(s.TrainJob.CreationTimestamp.Time), Gang: placed.Sub(runs), Start: ready.Sub(placed)}
}
