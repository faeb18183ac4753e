package main

import (
	"cmp"
	"time"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Fault is one way in which a job can come to harm.
type Fault struct {
	Name string
	// How says how it is injected, for the table.
	How string
	// Want are the reasons that are right; without any the job must complete in spite of the fault.
	Want []mpi.Reason
	// Warns is another reason, which the running job must show before it ends for one of Want, empty for none.
	Warns mpi.Reason
	// Says are words that the message must hold, each, besides whom the fault hit: evidence, or the remedy.
	Says []string
	// Hits says whom a command hits by itself, by the name of the job; nil for nobody. Messages must name it. Whom other faults
	// hit is known when they are injected.
	Hits func(job string) target
	// MPI is the implementation of the job's runtime, by default Open MPI 4.
	MPI *implementation
	// Waits says that the job does not end by the fault: it waits for somebody to mend it.
	Waits bool
	// Shape changes the job, which by default runs four ranks on two nodes for two minutes.
	Shape func(*trainer.TrainJob)
	// Before is done before the job is created, During once all its ranks run. Both return how to undo them, or nil.
	Before, During step
	// After is the time from the moment that clocks the fault to the fault itself, for deadlines.
	After time.Duration
	// Limit is how long the first right condition may take; one minute by default.
	Limit time.Duration
	// Settling is how long pods and keys of the finished job may stay; 20 s by default.
	Settling time.Duration
	// Ranks is true when ranks run before the fault. When none ever runs, the fault is then there when the job is created.
	Ranks bool
}

// warned is how long it may take until a running job shows what hinders it.
const warned = 30 * time.Second

func (f Fault) limit() time.Duration {
	if f.Limit == 0 {
		return time.Minute
	}
	return f.Limit
}

func (f Fault) settling() time.Duration { return cmp.Or(f.Settling, settling) }

// Row is one run of a fault.
type Row struct {
	Fault string `json:"fault"`
	// Reason is what was reported: the first right reason, else that of the final condition, else the last that was told
	// before the limit, else empty.
	Reason string `json:"reason"`
	// Right says that the reason was a right one, that the message named whom it hit, and that the job ended, or did not, as
	// the catalog says, then for a right reason and naming whom it hit too.
	Right bool `json:"right"`
	// Seconds from the fault to the condition.
	Seconds float64 `json:"seconds"`
	// Leftovers counts pods that still ran and keys that still existed some time after the end, and objects that
	// survived the deletion of the job.
	Leftovers int `json:"leftovers"`

	// Ended is Failed or Complete, `waits` for a job that is not to end and did not, and empty for one that was to end and did
	// not.
	Ended string `json:"ended"`
	// EndReason, EndMessage and EndSeconds are of the final condition where another one named the fault before.
	EndReason  string  `json:"endReason,omitempty"`
	EndMessage string  `json:"endMessage,omitempty"`
	EndSeconds float64 `json:"endSeconds,omitempty"`
	// Lacks is what the message must hold and does not.
	Lacks string `json:"lacks,omitempty"`
	// Took is how long the whole run took, in seconds.
	Took float64 `json:"took"`

	Run       int      `json:"run"`
	How       string   `json:"how"`
	Want      []string `json:"want"`
	Condition string   `json:"condition"`
	// Why is the reason that `kubectl mpi why` gave while the job ran on, empty for a job that had ended.
	Why     string   `json:"why,omitempty"`
	Message string   `json:"message"`
	Left    []string `json:"left,omitempty"`
	// Note says why the run could not be made, or is empty.
	Note string `json:"note,omitempty"`
}
