package job

import (
	"fmt"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The reasons of conditions that tell how far a job has come. What goes wrong has its reasons in package diagnose.
const (
	// ReasonWaitingForDeletion: an earlier job of the same name is still being deleted.
	ReasonWaitingForDeletion mpi.Reason = "WaitingForDeletion"
	// ReasonFetchingData: the data of the job is being fetched.
	ReasonFetchingData mpi.Reason = "FetchingData"
	// ReasonJobSetCreated: all objects of the job exist.
	ReasonJobSetCreated mpi.Reason = "JobSetCreated"

	// ReasonSuspended and ReasonResumed are upstream's reasons for the condition Suspended.
	ReasonSuspended mpi.Reason = "Suspended"
	ReasonResumed   mpi.Reason = "Resumed"

	// ReasonPodsPending: not all pods are ready yet.
	ReasonPodsPending mpi.Reason = "PodsPending"
	// ReasonPodsReady: all pods are ready.
	ReasonPodsReady mpi.Reason = "PodsReady"
	// ReasonWaitingForPods: the launcher cannot start before all pods have addresses.
	ReasonWaitingForPods mpi.Reason = "WaitingForPods"
	// ReasonWaitingForNodes: the launcher waits until all nodes answer.
	ReasonWaitingForNodes mpi.Reason = "WaitingForNodes"
	// ReasonGatePassed: all nodes answered and the user's command runs.
	ReasonGatePassed mpi.Reason = "GatePassed"
	// ReasonFinished: the job is over.
	ReasonFinished mpi.Reason = "Finished"
	// ReasonCompleted: the launcher succeeded.
	ReasonCompleted mpi.Reason = "Completed"
)

// Refusal is why a TrainJob cannot run as it is. It is final: the user has to change the TrainJob or what it refers to,
// and create it again.
type Refusal struct {
	Reason  mpi.Reason
	Message string
}

// Error returns the message for the user.
func (r *Refusal) Error() string { return r.Message }

func newRefusal(reason mpi.Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// ReasonRestarting: the job is being started again. ReasonRestarted: it was.
const (
	ReasonRestarting mpi.Reason = "Restarting"
	ReasonRestarted  mpi.Reason = "Restarted"
)
