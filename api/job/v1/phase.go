package v1

// Phase is a stage in the life of a job; a job is in one at a time. The phase of a TrainJob for another controller, or
// of a job that no controller has looked at yet, is empty.
//
//	Creating ─► Scheduling ─► Pulling ─► Starting ─► Running ─► Complete or Failed
//	   │            └────────────┴──────────┴───────────┴─► Restarting ─► Creating
//	   ├─► Refused  └────────────┴──────────┴───────────┴─► Stopping ─► Queued, Suspended or Preempted ─► Scheduling
type Phase string

// The phases. STATE is the word that kubectl shows in its column of that name, and that clients of Kubeflow know
// (see Phase.State).
const (
	// Refused: the job ended before anything was made of it: what it asks for cannot be, and the user has to
	// change that. STATE: Failed.
	Refused Phase = "Refused"
	// Queued: the job waits in a queue of Kueue, and has no pods. STATE: Suspended.
	Queued Phase = "Queued"
	// Suspended: a user holds the job back, and it has no pods. STATE: Suspended.
	Suspended Phase = "Suspended"
	// Preempted: Kueue has taken the room of the job for another one, or evicted it; it waits to be admitted
	// again. STATE: Suspended.
	Preempted Phase = "Preempted"
	// Stopping: the pods of a suspended job are being taken away, or the job has ended and its pods do not yet show
	// why. STATE is the word of the phase before or after it.
	Stopping Phase = "Stopping"
	// Creating: the objects of the job are being made, or wait for what they need: a runtime, a quota, a volume.
	// STATE: Created.
	Creating Phase = "Creating"
	// Fetching: what spec.initializer names is being fetched; the machines of the job are not asked for before it is
	// there. STATE: Created.
	Fetching Phase = "Fetching"
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
	return []Phase{Refused, Queued, Suspended, Preempted, Stopping, Creating, Fetching, Scheduling, Pulling,
		Starting, Running, Restarting, Complete, Failed}
}

// meanings explain the phases to people who run jobs.
var meanings = map[Phase]string{
	Refused:    "the job ended before anything was made of it: it asks for the impossible, and the user has to change it",
	Queued:     "the job waits in a queue of Kueue, and has no pods",
	Suspended:  "a user holds the job back, and it has no pods: `kubectl mpi resume` lets it run",
	Preempted:  "Kueue has taken the room of the job for another one, or evicted it; it waits to be admitted again",
	Stopping:   "the pods of a suspended job are being taken away, or the job has ended and its pods do not yet show why",
	Creating:   "the objects of the job are being made, or wait for what they need: a runtime, a quota, a volume",
	Fetching:   "what spec.initializer names is being fetched; the machines of the job are asked for after that",
	Scheduling: "pods are missing, or have no machines yet",
	Pulling:    "all pods have machines; images are pulled, volumes mounted, containers started",
	Starting:   "all pods run, and the launcher waits until all nodes answer",
	Running:    "all nodes answered, and the command of the user runs",
	Restarting: "a fault of the infrastructure ended the job, and it is being started again",
	Complete:   "the launcher succeeded; the job is over",
	Failed:     "the job failed, and is over: the reason names what went wrong",
}

// IsFinal reports whether a job of this phase is over.
func (p Phase) IsFinal() bool { return p == Complete || p == Failed || p == Refused }

// Meaning explains a phase in one line.
func (p Phase) Meaning() string { return meanings[p] }

// State returns the word of Kubeflow Trainer's API for a phase, as kubectl shows it in its column STATE: the type
// of the condition that the status shows. It is empty for Running, and for Stopping, which has the word of the
// phase before.
func (p Phase) State() string {
	switch p {
	case Creating, Fetching, Scheduling, Pulling, Starting:
		return "Created"
	case Queued, Suspended, Preempted:
		return "Suspended"
	case Restarting:
		return "Restarting"
	case Complete:
		return "Complete"
	case Refused, Failed:
		return "Failed"
	}
	return ""
}
