package audit

import "time"

// What somebody did to a TrainJob, or it came to. Steps beyond these are named by the type of the condition: Suspended, Running, Restarting, Complete,
// Failed.
const (
	Created  = "created"
	Changed  = "changed"
	Suspend  = "suspend"
	Resume   = "resume"
	Deleted  = "deleted"
	Refused  = "refused"
	everyJob = "*"
)

// JobStep is one thing that happened to a TrainJob. Its JSON is stable.
type JobStep struct {
	Time      time.Time `json:"time"`
	Namespace string    `json:"namespace"`
	// Job is the name of the TrainJob, or * where a request deleted all that a selector named.
	Job  string `json:"job"`
	What string `json:"what"`
	// By is the user who asked, and Through the account that acted for them.
	By      string `json:"by"`
	Through string `json:"through,omitempty"`
	// Runtime, Nodes and Queue are what one that was created asks for: the runtime's name, how many nodes, 0 for as many as the runtime has, and its
	// queue of Kueue.
	Runtime string `json:"runtime,omitempty"`
	Nodes   int64  `json:"nodes,omitempty"`
	Queue   string `json:"queue,omitempty"`
	// Detail is the runtime of one that was created, what was changed, or the reason and the message of a condition.
	Detail string `json:"detail,omitempty"`
}
