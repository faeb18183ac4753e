package job

import (
	"fmt"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The reasons that the controller gives, beside those of the agent's verdict (package mpi).
const (
	// ReasonRuntimeNotFound: the runtime that the TrainJob names does not exist. The job starts once it does.
	ReasonRuntimeNotFound mpi.Reason = "RuntimeNotFound"
	// ReasonWaitingForDeletion: an earlier job of the same name is still being deleted.
	ReasonWaitingForDeletion mpi.Reason = "WaitingForDeletion"
	// ReasonCreationFailed: the API server refused an object of the job.
	ReasonCreationFailed mpi.Reason = "CreationFailed"
	// ReasonJobSetCreated: all objects of the job exist.
	ReasonJobSetCreated mpi.Reason = "JobSetCreated"

	// ReasonSuspended and ReasonResumed are upstream's reasons for the condition Suspended.
	ReasonSuspended mpi.Reason = "Suspended"
	ReasonResumed   mpi.Reason = "Resumed"

	// ReasonPodsPending: not all pods are ready yet.
	ReasonPodsPending mpi.Reason = "PodsPending"
	// ReasonPodsRefused: the API server refuses pods of the job, for example for quota or pod security.
	ReasonPodsRefused mpi.Reason = "PodsRefused"
	// ReasonUnschedulable: the scheduler finds no machine for a pod.
	ReasonUnschedulable mpi.Reason = "Unschedulable"
	// ReasonImagePull: an image cannot be pulled.
	ReasonImagePull mpi.Reason = "ImagePullFailed"
	// ReasonContainerConfig: a container cannot be made, for example because a Secret that it names is missing.
	ReasonContainerConfig mpi.Reason = "ContainerConfigFailed"
	// ReasonPodsReady: all pods are ready.
	ReasonPodsReady mpi.Reason = "PodsReady"
	// ReasonWaitingForPods: the launcher cannot start before all pods have addresses.
	ReasonWaitingForPods mpi.Reason = "WaitingForPods"
	// ReasonWaitingForNodes: the launcher waits until all nodes answer.
	ReasonWaitingForNodes mpi.Reason = "WaitingForNodes"
	// ReasonLauncherUnreachable: the controller cannot reach the launcher's agent to hand it the addresses of the nodes.
	// The launcher waits for them until its gate times out.
	ReasonLauncherUnreachable mpi.Reason = "LauncherUnreachable"
	// ReasonGatePassed: all nodes answered and the user's command runs.
	ReasonGatePassed mpi.Reason = "GatePassed"
	// ReasonFinished: the job is over.
	ReasonFinished mpi.Reason = "Finished"

	// ReasonCompleted: the launcher succeeded.
	ReasonCompleted mpi.Reason = "Completed"
	// ReasonDeadlineExceeded is upstream's reason for a job that ran longer than activeDeadlineSeconds.
	ReasonDeadlineExceeded mpi.Reason = "DeadlineExceeded"
	// ReasonNameTaken: an object of another owner stands under a name that the job needs.
	ReasonNameTaken mpi.Reason = "NameTaken"
	// ReasonNameTooLong: pods of the job would have host names that do not fit a DNS label.
	ReasonNameTooLong mpi.Reason = "NameTooLong"
	// ReasonReservedVariable: the TrainJob sets a variable that carries the wiring of MPI.
	ReasonReservedVariable mpi.Reason = "ReservedVariable"
	// ReasonInvalidWorld: the number of nodes or slots is out of range.
	ReasonInvalidWorld mpi.Reason = "InvalidWorld"
	// ReasonInvalidRuntime: the runtime lacks a part that an MPI job needs.
	ReasonInvalidRuntime mpi.Reason = "InvalidRuntime"
	// ReasonInvalidPatch: spec.runtimePatches does not fit the runtime.
	ReasonInvalidPatch mpi.Reason = "InvalidRuntimePatch"
	// ReasonInitializerUnsupported: spec.initializer has no meaning for an MPI runtime.
	ReasonInitializerUnsupported mpi.Reason = "InitializerUnsupported"

	// ReasonOOMKilled: the kernel killed a process or container for memory.
	ReasonOOMKilled mpi.Reason = "OOMKilled"
	// ReasonEvicted: a pod was evicted from its machine.
	ReasonEvicted mpi.Reason = "Evicted"
	// ReasonPreempted: a pod had to make room for one of higher priority.
	ReasonPreempted mpi.Reason = "Preempted"
	// ReasonMachineLost: the machine of a pod is gone or does not answer.
	ReasonMachineLost mpi.Reason = "MachineLost"
	// ReasonPodRejected: kubelet did not admit a pod.
	ReasonPodRejected mpi.Reason = "PodRejected"
	// ReasonInitFailed: an init container failed, so the main container never ran.
	ReasonInitFailed mpi.Reason = "InitFailed"
	// ReasonNodeFailed: the main container of a node ended although its job was not over.
	ReasonNodeFailed mpi.Reason = "NodeFailed"
	// ReasonLauncherFailed: the launcher's container ended without a verdict of the agent.
	ReasonLauncherFailed mpi.Reason = "LauncherFailed"
	// ReasonJobSetFailed: the JobSet failed and no pod shows why.
	ReasonJobSetFailed mpi.Reason = "JobSetFailed"
)

// Refusal is why a TrainJob cannot run as it is. It is final: the user has to change the TrainJob or what it refers to,
// and create it again.
type Refusal struct {
	Reason  mpi.Reason
	Message string
}

// Error returns the message for the user.
func (r *Refusal) Error() string { return r.Message }

func refuse(reason mpi.Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
