package diagnose

import "lockstep.dev/lockstep/pkg/mpi"

// The reasons. Entries says of each what proves it and what to do.
const (
	// What the TrainJob asks for.

	// RuntimeNotFound: the runtime that the TrainJob names does not exist, or is of a kind that is not a runtime.
	RuntimeNotFound mpi.Reason = "RuntimeNotFound"
	// InvalidRuntime: the runtime lacks a part that an MPI job needs.
	InvalidRuntime mpi.Reason = "InvalidRuntime"
	// InvalidPatch: spec.runtimePatches does not fit the runtime.
	InvalidPatch mpi.Reason = "InvalidRuntimePatch"
	// InitializerUnsupported: nothing here can fetch what spec.initializer names.
	InitializerUnsupported mpi.Reason = "InitializerUnsupported"
	// InvalidArtifacts: the annotation that asks for a folder for artifacts is wrong.
	InvalidArtifacts mpi.Reason = "InvalidArtifacts"
	// InvalidWorld: the number of nodes or slots is out of range.
	InvalidWorld mpi.Reason = "InvalidWorld"
	// NameTooLong: pods of the job would have host names that do not fit a DNS label.
	NameTooLong mpi.Reason = "NameTooLong"
	// NameTaken: an object of another owner stands under a name that the job needs.
	NameTaken mpi.Reason = "NameTaken"
	// ReservedVariable: the TrainJob sets a variable that carries the wiring of MPI.
	ReservedVariable mpi.Reason = "ReservedVariable"
	// ArgumentTooLong: an argument or a variable of the job is longer than Linux hands to a program.
	ArgumentTooLong = mpi.ReasonArgumentTooLong
	// InvalidTrace: what the TrainJob asks to be recorded of its run cannot be.
	InvalidTrace mpi.Reason = "InvalidTrace"
	// InvalidObject: the API server calls an object of the job invalid, which no waiting changes.
	InvalidObject mpi.Reason = "InvalidObject"
	// CreationFailed: the API server refused an object of the job.
	CreationFailed mpi.Reason = "CreationFailed"

	// Data that is fetched before the job starts.

	// DataDenied: the source of the data does not take the credentials.
	DataDenied mpi.Reason = "DataDenied"
	// DataNotFound: there is nothing under the address of the data.
	DataNotFound mpi.Reason = "DataNotFound"
	// DataCorrupt: the data differs from what its source announced.
	DataCorrupt mpi.Reason = "DataCorrupt"
	// DataUnavailable: the source of the data does not answer, or is too busy.
	DataUnavailable mpi.Reason = "DataUnavailable"
	// DataVolumeFull: the volume for data has no room.
	DataVolumeFull mpi.Reason = "DataVolumeFull"
	// DataVolumeFailed: the volume for data cannot be written.
	DataVolumeFailed mpi.Reason = "DataVolumeFailed"
	// DataFetchFailed: the pod that fetches data failed otherwise.
	DataFetchFailed mpi.Reason = "DataFetchFailed"

	// Pods that the API server refuses.

	// QuotaExceeded: pods of the job do not fit a ResourceQuota of the namespace.
	QuotaExceeded mpi.Reason = "QuotaExceeded"
	// LimitRangeViolated: pods of the job ask for more or less than a LimitRange of the namespace allows.
	LimitRangeViolated mpi.Reason = "LimitRangeViolated"
	// PodSecurityDenied: pods of the job break the pod security standard of the namespace.
	PodSecurityDenied mpi.Reason = "PodSecurityDenied"
	// SecurityContextDenied: no SecurityContextConstraints of OpenShift admits the pods of the job.
	SecurityContextDenied mpi.Reason = "SecurityContextDenied"
	// ServiceAccountMissing: the service account of the pods does not exist.
	ServiceAccountMissing mpi.Reason = "ServiceAccountMissing"
	// PodInvalid: the pods of the job are not valid: Kubernetes itself cannot accept them.
	PodInvalid mpi.Reason = "PodInvalid"
	// PolicyDenied: an admission policy or webhook of the cluster refuses the pods of the job.
	PolicyDenied mpi.Reason = "PolicyDenied"
	// PodsRefused: the API server refuses pods of the job for another reason.
	PodsRefused mpi.Reason = "PodsRefused"

	// Pods that do not start.

	// Unschedulable: the scheduler finds no machine for a pod.
	Unschedulable mpi.Reason = "Unschedulable"
	// SchedulingGated: scheduling gates hold pods back.
	SchedulingGated mpi.Reason = "SchedulingGated"
	// GangTimeout: not all pods of the job ran at the same time within the gang timeout of the runtime.
	GangTimeout mpi.Reason = "GangTimeout"
	// ImagePull: an image cannot be pulled.
	ImagePull mpi.Reason = "ImagePullFailed"
	// SecretMissing: a Secret that a pod needs does not exist.
	SecretMissing mpi.Reason = "SecretMissing"
	// ConfigMapMissing: a ConfigMap that a pod needs does not exist.
	ConfigMapMissing mpi.Reason = "ConfigMapMissing"
	// VolumeClaimMissing: a PersistentVolumeClaim that a pod mounts does not exist or is not bound.
	VolumeClaimMissing mpi.Reason = "VolumeClaimMissing"
	// VolumeFailed: a volume of a pod cannot be attached or mounted.
	VolumeFailed mpi.Reason = "VolumeFailed"
	// ContainerConfig: a container cannot be made.
	ContainerConfig mpi.Reason = "ContainerConfigFailed"
	// ContainerStartFailed: a container was made, and its program could not be started.
	ContainerStartFailed mpi.Reason = "ContainerStartFailed"
	// CrashLoopBackOff: a container ends each time kubelet starts it.
	CrashLoopBackOff mpi.Reason = "CrashLoopBackOff"
	// PodRejected: kubelet did not admit a pod to its machine.
	PodRejected mpi.Reason = "PodRejected"
	// InitFailed: an init container failed, so the main container never ran.
	InitFailed mpi.Reason = "InitFailed"

	// Nodes that do not answer.

	// GateTimeout: not all nodes answered the launcher before the deadline.
	GateTimeout = mpi.ReasonGateTimeout
	// ConnectionRefused: a node refuses connections of the launcher.
	ConnectionRefused mpi.Reason = "ConnectionRefused"
	// ConnectionTimedOut: a node does not answer the launcher.
	ConnectionTimedOut mpi.Reason = "ConnectionTimedOut"
	// NameNotResolved: the name of a node cannot be resolved.
	NameNotResolved mpi.Reason = "NameNotResolved"
	// AuthenticationFailed: a node does not hold the key of the job.
	AuthenticationFailed mpi.Reason = "AuthenticationFailed"
	// LauncherUnreachable: the controller cannot reach the agent of the launcher to hand it the addresses of the nodes.
	LauncherUnreachable mpi.Reason = "LauncherUnreachable"

	// Pods and machines that are lost.

	// Evicted: a pod was evicted from its machine.
	Evicted mpi.Reason = "Evicted"
	// Preempted: a pod had to make room for one of higher priority.
	Preempted mpi.Reason = "Preempted"
	// MachineLost: the machine of a pod is gone, shut down or does not answer the control plane.
	MachineLost mpi.Reason = "MachineLost"
	// WorkerLost: a worker stopped answering or its connection broke while ranks ran.
	WorkerLost mpi.Reason = "WorkerLost"
	// PodDeleted: somebody deleted a pod of the job while it ran.
	PodDeleted mpi.Reason = "PodDeleted"

	// Containers that end.

	// OOMKilled: the kernel killed a process for lack of memory.
	OOMKilled mpi.Reason = "OOMKilled"
	// WorkerKilled: the main container of a worker was killed by a signal.
	WorkerKilled mpi.Reason = "WorkerKilled"
	// WorkerFailed: the main container of a worker ended although the job was not over.
	WorkerFailed mpi.Reason = "WorkerFailed"
	// LauncherKilled: the container of the launcher was killed by a signal before its agent could say why.
	LauncherKilled mpi.Reason = "LauncherKilled"
	// LauncherFailed: the container of the launcher ended without a verdict of the agent.
	LauncherFailed mpi.Reason = "LauncherFailed"
	// JobSetFailed: the JobSet failed and no pod shows why.
	JobSetFailed mpi.Reason = "JobSetFailed"
	// JobSetDeleted: somebody deleted the JobSet of the job while it ran.
	JobSetDeleted mpi.Reason = "JobSetDeleted"
	// AgentFailed: the agent itself could not work.
	AgentFailed = mpi.ReasonAgentFailed

	// Commands and ranks.

	// CommandNotFound: a command could not be started: it is not in the image, or not executable.
	CommandNotFound = mpi.ReasonCommandNotFound
	// CommandFailed: the command of the job exited with a code other than 0, and no rank of it is known to have failed.
	CommandFailed = mpi.ReasonCommandFailed
	// CommandKilled: the command of the job was killed by a signal.
	CommandKilled = mpi.ReasonCommandKilled
	// RankFailed: a rank exited with a code other than 0.
	RankFailed mpi.Reason = "RankFailed"
	// RankKilled: a rank was killed by a signal.
	RankKilled mpi.Reason = "RankKilled"
	// WorldIncomplete: the command exited 0, but nothing ran on the nodes of the job, or a node cannot say what ran there.
	WorldIncomplete = mpi.ReasonWorldIncomplete
	// LaunchAbandoned: the command exited 0 while a launch of its own still ran.
	LaunchAbandoned mpi.Reason = "LaunchAbandoned"
	// Hang: no rank made progress for longer than the job allows.
	Hang mpi.Reason = "Hang"
	// LaunchStuck: a launcher waits although no rank runs.
	LaunchStuck = mpi.ReasonLaunchStuck
	// WorkerSilent: a worker does not answer, although its machine does.
	WorkerSilent = mpi.ReasonWorkerSilent
	// RankStopped: a rank is stopped by a signal.
	RankStopped = mpi.ReasonRankStopped
	// RankHeldUp: a rank waits for a processor.
	RankHeldUp = mpi.ReasonRankHeldUp
	// DeadlineExceeded: the job took longer than its activeDeadlineSeconds.
	DeadlineExceeded mpi.Reason = "DeadlineExceeded"

	// MPI.

	// MPIAborted: a rank called MPI_Abort.
	MPIAborted mpi.Reason = "MPIAborted"
	// MPIPortsBlocked: ranks cannot connect to each other.
	MPIPortsBlocked mpi.Reason = "MPIPortsBlocked"
	// MPIVersionMismatch: launcher and ranks use different MPI libraries or versions.
	MPIVersionMismatch mpi.Reason = "MPIVersionMismatch"
	// NotEnoughSlots: the command asks for more ranks than there are slots.
	NotEnoughSlots mpi.Reason = "NotEnoughSlots"
	// LaunchDaemonLost: the MPI launcher lost a daemon on a node.
	LaunchDaemonLost mpi.Reason = "LaunchDaemonLost"
	// MPIFailed: MPI reported an error and ended the job.
	MPIFailed mpi.Reason = "MPIFailed"

	// Programs.

	// CUDAOutOfMemory: a GPU has not enough memory for the program.
	CUDAOutOfMemory mpi.Reason = "CUDAOutOfMemory"
	// GPUUnavailable: the program finds no GPU.
	GPUUnavailable mpi.Reason = "GPUUnavailable"
	// GPUDriverTooOld: the machine's GPU driver is too old for the CUDA of the image.
	GPUDriverTooOld mpi.Reason = "GPUDriverTooOld"
	// GPUHardwareError: a GPU failed: uncorrectable memory error, or fallen off the bus.
	GPUHardwareError mpi.Reason = "GPUHardwareError"
	// CUDAFailed: a kernel of the program failed on a GPU: an assertion, or an address that is not its own.
	CUDAFailed mpi.Reason = "CUDAFailed"
	// NCCLFailed: NCCL could not set up or lost the connections between GPUs.
	NCCLFailed mpi.Reason = "NCCLFailed"
	// NCCLTimeout: a collective operation of NCCL did not end in time.
	NCCLTimeout mpi.Reason = "NCCLTimeout"
	// RDMAFailed: InfiniBand or RoCE failed.
	RDMAFailed mpi.Reason = "RDMAFailed"
	// OutOfMemory: the program could not allocate memory, and was not killed for it.
	OutOfMemory mpi.Reason = "OutOfMemory"
	// PythonException: a Python program ended with an exception.
	PythonException mpi.Reason = "PythonException"
	// PythonModuleMissing: a Python module is not in the image.
	PythonModuleMissing mpi.Reason = "PythonModuleMissing"
	// LibraryMissing: a shared library is not in the image.
	LibraryMissing mpi.Reason = "LibraryMissing"
	// SharedMemoryTooSmall: /dev/shm is too small for the program.
	SharedMemoryTooSmall mpi.Reason = "SharedMemoryTooSmall"
	// DiskFull: a file system is full.
	DiskFull mpi.Reason = "DiskFull"
	// ReadOnlyFileSystem: the program wrote to a file system that is only read.
	ReadOnlyFileSystem mpi.Reason = "ReadOnlyFileSystem"
	// PeerFailed: a rank ended because another one had failed before.
	PeerFailed mpi.Reason = "PeerFailed"
)
