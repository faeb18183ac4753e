package diagnose

import (
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
)

// ReasonClass says whose failure it is, which decides about a restart.
type ReasonClass string

// The classes.
const (
	// ByInfrastructure: the platform failed the job. The same job may succeed when it is started again, and is, within
	// its restart budget.
	ByInfrastructure ReasonClass = "infrastructure"
	// ByApplication: the program failed. It would fail again.
	ByApplication ReasonClass = "application"
	// ByRequest: the TrainJob asks for what cannot be had as things are: a person has to change it or the cluster.
	ByRequest ReasonClass = "request"
	// ByHand: a person took away what the job consists of. The same job may succeed when it is created again, which nobody but a person
	// decides.
	ByHand ReasonClass = "hand"
)

// ReasonDoc documents a reason.
type ReasonDoc struct {
	Reason mpi.Reason
	Class  ReasonClass
	// Meaning is one line.
	Meaning string
	// Evidence says what proves it.
	Evidence string
	// Remedy says what to do, as part of a sentence.
	Remedy string
}

// ReasonDocs documents all reasons why a job fails or does not start, by topic. The returned list is the caller's.
func ReasonDocs() []ReasonDoc { return slices.Clone(reasonDocs) }

// ReasonDocOf returns the documentation of a reason, and whether there is one.
func ReasonDocOf(reason mpi.Reason) (ReasonDoc, bool) {
	i := slices.IndexFunc(reasonDocs, func(e ReasonDoc) bool { return e.Reason == reason })
	if i < 0 {
		return ReasonDoc{}, false
	}
	return reasonDocs[i], true
}

// IsInfrastructureReason reports whether a reason is a failure of the platform.
func IsInfrastructureReason(reason mpi.Reason) bool {
	entry, _ := ReasonDocOf(reason)
	return entry.Class == ByInfrastructure
}

// IsDataReason reports whether a reason is about data that is fetched before a job starts.
func IsDataReason(reason mpi.Reason) bool {
	return slices.Contains([]mpi.Reason{DataDenied, DataNotFound, DataCorrupt, DataUnavailable,
		DataVolumeFull, DataVolumeFailed, DataFetchFailed}, reason)
}

var reasonDocs = []ReasonDoc{
	// What the TrainJob asks for.
	{RuntimeNotFound, ByRequest, "the runtime that the TrainJob names does not exist, or is of a kind or an API group that has no runtimes",
		"spec.runtimeRef of the TrainJob, and the API server, which has no such object.",
		"name a ClusterTrainingRuntime, or a TrainingRuntime of the same namespace, in spec.runtimeRef; the job starts once it exists"},
	{InvalidRuntime, ByRequest, "the runtime lacks a part that an MPI job needs",
		"The template of the runtime.",
		"compile the runtime with runtime-compiler, which writes all parts, or ask who maintains it"},
	{InvalidPatch, ByRequest, "spec.runtimePatches does not fit the runtime",
		"spec.runtimePatches of the TrainJob, merged into the template of the runtime.",
		"correct the patch: the message names the part that does not exist or may not be changed"},
	{InitializerUnsupported, ByRequest, "nothing here can fetch what spec.initializer names",
		"The storageUri in spec.initializer of the TrainJob, and its runtime.",
		"use s3://, hf://, https:// or pvc:// with a compiled runtime; a runtime of others needs a job for it"},
	{InvalidArtifacts, ByRequest, "the TrainJob asks wrongly for a folder for artifacts",
		"The annotation `lockstep.dev/artifacts` of the TrainJob, which is YAML.",
		"correct the annotation, or remove it: the message names what is allowed"},
	{InvalidWorld, ByRequest, "the number of nodes or slots is out of range",
		"numNodes and numProcPerNode of the TrainJob, or those of the runtime.",
		"choose numbers within the range that the message names"},
	{NameTooLong, ByRequest, "pods of the job would have host names that do not fit a DNS label",
		"The length of the name of the TrainJob.",
		"give the TrainJob a shorter name"},
	{NameTaken, ByRequest, "an object of another owner stands under a name that the job needs",
		"The owner reference of that object. A Secret that somebody else made may hold a key that somebody else knows. Beside Kubeflow Trainer, which uses it, the job runs on, and the condition `Guarded` is False.",
		"delete the object that the message names, or give the TrainJob another name"},
	{ReservedVariable, ByRequest, "the TrainJob sets a variable that carries the wiring of MPI",
		"The environment in the TrainJob.",
		"remove the variable from the TrainJob"},
	{ArgumentTooLong, ByRequest, "an argument or a variable of the job is longer than Linux hands to a program",
		"The lengths of commands, arguments and variables in the TrainJob and its runtime: 131071 bytes for one of them. Or the words `argument list too long` of the container runtime, the agent or a shell: " +
			"all of them together may have a quarter of the limit of the stack, usually 2 MiB.",
		"put long texts into a file, which the command reads: `kubectl mpi submit --files FOLDER`, a ConfigMap or a volume"},
	{InvalidTrace, ByRequest, "what the TrainJob asks to be recorded of its run cannot be",
		"The annotation `lockstep.dev/trace` of the TrainJob. Beside Kubeflow Trainer, which does not know it, the job runs, and nothing is recorded.",
		"correct the annotation, or remove it: the message says what is allowed"},
	{InvalidObject, ByRequest,
		"the API server calls an object of the job invalid, which no waiting changes",
		"The API server's answer.", "correct what the answer names in the TrainJob or its runtime, and create the TrainJob again"},
	{CreationFailed, ByRequest, "the API server refused an object of the job",
		"The API server's answer.",
		"read the answer in the message: it names the rule; the controller tries again by itself, and the job starts once it is allowed, by a larger quota for example"},
	// Data that is fetched before the job starts.
	{DataDenied, ByRequest, "the source of the data does not take the credentials",
		"The answer of the source to the pod that fetches.",
		"put the right key into the Secret that secretRef names, let it read what storageUri names, and create the TrainJob again"},
	{DataNotFound, ByRequest, "there is nothing under the address of the data",
		"The answer of the source to the pod that fetches, or its empty list.",
		"correct storageUri or ENDPOINT, and create the TrainJob again"},
	{DataCorrupt, ByRequest, "the data differs from what its source announced",
		"Length, checksum or names of the files. Nothing of them was given to the job.",
		"look at the data where it comes from, and create the TrainJob again"},
	{DataUnavailable, ByInfrastructure, "the source of the data does not answer, or is too busy",
		"The last of several tries in some ten minutes. What was fetched by then is kept.",
		"see that the tenant's egress lets pods reach the source, wait until it answers, and create the TrainJob again: it goes on where this one ended"},
	{DataVolumeFull, ByRequest, "the volume for data has no room",
		"The room on the claim `lockstep-data`, before anything was fetched or when it ran out.",
		"ask the platform admin for a larger claim, or delete folders below `sets` that no job needs, in a pod that mounts it"},
	{DataVolumeFailed, ByInfrastructure, "the volume for data cannot be written",
		"The error of the file system of the claim `lockstep-data`.",
		"show the error to the platform admin: the claim must be writable by the group of the pods"},
	{DataFetchFailed, ByInfrastructure, "the pod that fetches data failed otherwise",
		"How the pod ended.",
		"look at its log, which the message names, and create the TrainJob again"},
	// Pods that the API server refuses.
	{QuotaExceeded, ByRequest, "pods of the job do not fit a ResourceQuota of the namespace",
		"The API server's refusal, which names the quota with what is requested, used and allowed.",
		"wait until other jobs of the namespace end, or ask for a larger quota: a job that waits then starts by itself, and one that has failed, because it would not fit an empty quota, must be created again; or ask for fewer nodes or resources in another TrainJob"},
	{LimitRangeViolated, ByRequest, "pods of the job ask for more or less than a LimitRange of the namespace allows",
		"The API server's refusal, which names the bound.",
		"set spec.trainer.resourcesPerNode within the bounds of the LimitRange"},
	{PodSecurityDenied, ByRequest, "pods of the job break the pod security standard of the namespace",
		"The API server's refusal, which names each field.",
		"remove what the message names from the TrainJob or its runtime; compiled runtimes keep to `restricted`"},
	{SecurityContextDenied, ByRequest, "no SecurityContextConstraints of OpenShift admits the pods of the job",
		"The API server's refusal, which names each constraint and field.",
		"use the service account that the runtime was compiled with, or remove what the message names"},
	{ServiceAccountMissing, ByRequest, "the service account of the pods does not exist",
		"The API server, asked by name before any pod was made, or its refusal.",
		"create the service account in the namespace of the job, or name another one in the runtime; the job starts once it exists"},
	{PodInvalid, ByRequest, "the pods of the job are not valid: Kubernetes itself cannot accept them",
		"The API server's refusal, which names the field.",
		"correct the field that the message names; the controller tries again once the TrainJob or its runtime is another one"},
	{PolicyDenied, ByRequest, "an admission policy or webhook of the cluster refuses the pods of the job",
		"The API server's refusal, which names the policy.",
		"change what the policy names, or ask who runs the cluster"},
	{PodsRefused, ByRequest, "the API server refuses pods of the job for another reason",
		"The events of the Job and JobSet controllers with the API server's own words; nothing else records them.",
		"read the words in the message: they name what is refused"},
	// Pods that do not start.
	{Unschedulable, ByRequest, "the scheduler finds no machine for a pod",
		"The condition PodScheduled of the pod, with what each machine lacks.",
		"wait for machines to become free, ask for fewer nodes or resources per node, or add machines"},
	{SchedulingGated, ByRequest, "scheduling gates hold pods back: the scheduler does not look at them",
		"The gates in the pods.",
		"wait for whoever removes the gates that the message names, such as a queue; gates that nobody removes have to go from spec.runtimePatches of the TrainJob or from the runtime"},
	{GangTimeout, ByRequest,
		"not all pods of the job ran at the same time within the gang timeout of the runtime",
		"The clock of the controller, and what the control plane says of the missing pods.",
		"ask for fewer nodes, wait until the cluster has room, or use a queue (Kueue), which starts a job only when all its pods fit"},
	{ImagePull, ByRequest, "an image cannot be pulled",
		"kubelet's status of the container, with the registry's own words.",
		"check the name of the image, that it was pushed, and that the service account of the job has a pull secret for its registry"},
	{SecretMissing, ByRequest, "a Secret that a pod needs does not exist",
		"The API server, asked by name before any pod was made, or kubelet's status or event of the pod.",
		"create the Secret in the namespace of the job, or correct its name in the TrainJob or runtime; the job starts once it exists"},
	{ConfigMapMissing, ByRequest, "a ConfigMap that a pod needs does not exist",
		"The API server, asked by name before any pod was made, or kubelet's status or event of the pod.",
		"create the ConfigMap in the namespace of the job, or correct its name in the TrainJob or runtime; the job starts once it exists"},
	{VolumeClaimMissing, ByRequest, "a PersistentVolumeClaim that a pod mounts does not exist or is not bound",
		"The condition PodScheduled of the pod.",
		"create the PersistentVolumeClaim in the namespace of the job, check its storage class, or correct its name in the TrainJob or runtime"},
	{VolumeFailed, ByInfrastructure, "a volume of a pod cannot be attached or mounted",
		"kubelet's event of the pod.",
		"check the volume and its storage: the message has the words of kubelet"},
	{ContainerConfig, ByRequest, "a container cannot be made",
		"kubelet's status of the container.",
		"correct what the message names in the TrainJob or runtime"},
	{ContainerStartFailed, ByRequest, "a container was made, and its program could not be started, so there is no log",
		"kubelet's status of the container: StartError, with the words of the container runtime.",
		"correct what the message names in the TrainJob or runtime: a program that is not found may be hidden by a volume that is mounted over its folder (the agent is " + mpi.AgentBin + ")"},
	{CrashLoopBackOff, ByRequest, "a container ends each time kubelet starts it, so its pod does not become ready",
		"kubelet's status of the container: how often it was started again, and how it ended the last time. The last lines are its termination message; " +
			"mpi-controller asks for one (`terminationMessagePolicy: FallbackToLogsOnError`) in runtimes without our agent that set no policy.",
		"read the log of the run before with `kubectl logs POD -c CONTAINER --previous`, as long as the pod exists; correct its command, its files or its volumes in the TrainJob or runtime, or its memory limit after OOMKilled"},
	{PodRejected, ByInfrastructure, "kubelet did not admit a pod to its machine",
		"The status of the pod: kubelet ended it before any container started.",
		"start the job again; if it happens on the same machine, check its devices and free resources"},
	{InitFailed, ByApplication, "an init container failed, so the main container never ran",
		"kubelet's status of the init container.",
		"read the log of the init container"},
	// Nodes that do not answer.
	{GateTimeout, ByRequest, "not all nodes answered the launcher before the deadline",
		"The verdict of the launcher: each node with the last error.",
		"check that a NetworkPolicy admits port 2222 between the pods of the job and that the nodes are healthy"},
	{ConnectionRefused, ByRequest, "a node refuses connections of the launcher",
		"The containers of all nodes run, and the operating system or a NetworkPolicy rejects each attempt: said after 10 s, and the job ends after 62 s (2 s until the controller tells the launcher, then `--dark-after` of the agent). Where no controller says that the nodes run, the gate times out first.",
		"check NetworkPolicies, and that the container `node` of the worker runs the agent"},
	{ConnectionTimedOut, ByRequest, "a node does not answer the launcher",
		"Nothing comes back, as when packets are dropped: said after 4 s, and the job ends after 60 s (`--dark-after` of the agent). Of a node that accepts connections and does not answer it is said after 14 s, because it may only be busy, and each attempt has twice as long as the one before, up to 10 s.",
		"check NetworkPolicies: port 2222 must be open between the pods of the job; check that the machine of the worker is healthy"},
	{NameNotResolved, ByInfrastructure, "the name of a node cannot be resolved",
		"The launcher's gate, or the program's own words.",
		"check that CoreDNS runs and that the pods may reach it (port 53), and that the headless Service of the job exists"},
	{AuthenticationFailed, ByRequest, "a node does not hold the key of the job",
		"The launcher reached the node, which showed another key or refused ours for 2 s.",
		"check that launcher and workers mount the same Secret `<job>-mpi-ssh-auth`; start the job again to get a new key"},
	{LauncherUnreachable, ByRequest, "the controller cannot reach the agent of the launcher to hand it the addresses of the nodes",
		"Attempts of the controller on port 2222 of the launcher.",
		"check NetworkPolicies: mpi-controller must reach port 2222 of the launcher"},
	// Pods and machines that are lost.
	{Evicted, ByInfrastructure, "a pod was evicted from its machine",
		"The status or the condition DisruptionTarget of the pod, with kubelet's or the control plane's reason; or the Workload of Kueue, which then starts the job again itself.",
		"start the job again; if the machine was short of disk or memory, ask for as much as the job uses"},
	{Preempted, ByInfrastructure, "a pod had to make room for one of higher priority",
		"The condition DisruptionTarget of the pod, set by the scheduler, or the Workload of Kueue.",
		"start the job again when there is room, or give it a higher priority"},
	{MachineLost, ByInfrastructure, "the machine of a pod is gone, shut down or does not answer the control plane",
		"The condition DisruptionTarget or the status of the pod.",
		"start the job again: it gets other machines"},
	{WorkerLost, ByInfrastructure, "a worker stopped answering or its connection broke while ranks ran",
		"The keepalives between launcher and worker: none is answered for 20 s, or for 50 s where the worker's machine still acknowledges what it is sent; or the end of the connection.",
		"check the machine of the worker, also whether it was started again, that no livenessProbe of the runtime fails (kubelet's event `Unhealthy`), and that nothing in the job sends SIGTERM to process 1 or to all processes of its pod; start the job again"},
	{PodDeleted, ByInfrastructure, "somebody deleted a pod of the job while it ran",
		"The deletion timestamp of the pod, without a word of the control plane about a disruption.",
		"start the job again; the audit log of the API server names who deleted the pod"},
	// Containers that end.
	{OOMKilled, ByApplication, "the kernel killed a process for lack of memory",
		"The counter of the memory cgroup, as the agent of the node sees it, or kubelet's status of the container.",
		"raise the memory limit (spec.trainer.resourcesPerNode; that of a launcher without ranks is in the runtime, and the message says so then) or use less: smaller batches, fewer data loader workers"},
	{WorkerKilled, ByApplication, "the main container of a worker, or the launch daemon in it, was killed by a signal, and nobody deleted or evicted the pod",
		"kubelet's status of the container; or a SIGTERM that ended the launch daemon and that its agent, which answered afterwards, did not send. An agent that was itself told to end proves nothing of the kind: that is `WorkerLost`.",
		"read the log of the launcher, which has what all ranks wrote: that of the worker goes with its pod when the job ends; nothing in the job should end the launch daemon of a worker, as `kill -TERM -1` does"},
	{WorkerFailed, ByApplication, "the main container of a worker ended although the job was not over",
		"kubelet's status of the container.",
		"read the log of the launcher, which has what all ranks wrote: that of the worker goes with its pod when the job ends"},
	{LauncherKilled, ByApplication, "the container of the launcher was killed by a signal before its agent could say why",
		"kubelet's status of the container; there is no verdict.",
		"read the log of the launcher; if it was the memory of the machine, ask for more memory"},
	{LauncherFailed, ByApplication, "the container of the launcher ended without a verdict of the agent",
		"kubelet's status of the container; the termination message is not a verdict.",
		"read the log of the launcher; check that its command runs through the agent of the runtime"},
	{JobSetFailed, ByApplication, "the JobSet failed and no pod shows why",
		"The condition Failed of the JobSet; the pods were gone when the controller looked.",
		"read the events of the TrainJob and its pods"},
	{JobSetDeleted, ByHand, "somebody deleted the JobSet of the job while it ran",
		"The status of the TrainJob, which says that there was a JobSet, and the API server, which has none, or one that is being deleted. " +
			"It is never made again by itself, whatever the runtime allows: that would run the job a second time from its beginning. A JobSet " +
			"that ended, and whose ttlSecondsAfterFinished was over, while no controller ran looks the same.",
		"create the TrainJob again, and delete or suspend TrainJobs and not their JobSets; the audit log of the API server names who deleted it"},
	{AgentFailed, ByRequest, "the agent itself could not work",
		"The launcher's verdict.",
		"read the message: it names what the agent lacks, for example a readable key"},
	// Commands and ranks.
	{CommandNotFound, ByApplication, "a command could not be started: it is not in the image, not executable, or nothing that the system can run",
		"The launcher's verdict, what the MPI launcher or a shell printed, or the file itself in the launcher's pod: its mode, its first line, its architecture.",
		"check the spelling and the path of the command, PATH if the TrainJob sets it, and that launcher and workers use the " +
			"same image; a script must be in the image or in the folder of `--files`, be executable (`chmod +x`), begin with " +
			"`#!` and an interpreter of the image, and end its lines as on Linux (`dos2unix`); a binary must be built for the " +
			"architecture of the machines"},
	{CommandFailed, ByApplication, "the command of the job exited with a code other than 0, and no rank of it is known to have failed",
		"The launcher's verdict.",
		"correct the command or the program that it runs; its earlier output is in the log of the launcher"},
	{CommandKilled, ByApplication, "the command of the job was killed by a signal",
		"The launcher's verdict.",
		"read the log of the launcher"},
	{RankFailed, ByApplication, "a rank exited with a code other than 0",
		"The agent of the node saw how the rank ended; it was the first of all. Of a rank that ended too soon to be seen, mpirun's report.",
		"correct the program; what the rank printed is in the log of the launcher"},
	{RankKilled, ByApplication, "a rank was killed by a signal",
		"The agent of the node saw how the rank ended; it was the first of all.",
		"after SIGSEGV, SIGBUS, SIGFPE or SIGABRT look for a bug with a debugger or `ulimit -c`; after SIGKILL look for memory and for who ended it"},
	{WorldIncomplete, ByApplication, "the command exited 0, but a launch had less than the world that it asked for, or a node cannot report what ran there",
		"The command line of each `mpirun` says which hosts and how many ranks it asks for; the reports of the nodes count the launch daemons and other commands that ran there. If the command itself asked for fewer nodes, the job is complete and names those without ranks.",
		"if a node gave no report, check that its machine is healthy and not overloaded; else start one rank per slot on all hosts of the hostfile (plain `mpirun COMMAND` does), or ask for fewer nodes; check that the runtime names the MPI implementation and version of the image"},
	{LaunchAbandoned, ByApplication, "the command exited 0 while a launch of its own still ran, and ended it so",
		"The agent of the launcher saw `mpirun`, or another launcher, run on for 5 s after the command.",
		"end the script with `wait` and check what it says (`wait PID` fails with the launch), or start the launch without `&`; a launch that is to end with the script is ended by `kill`, or allowed by the environment variable LOCKSTEP_ALLOW_UNFINISHED=true"},
	{Hang, ByApplication, "no rank made progress for longer than the job allows",
		"The launcher's verdict, with stacks where the container allows it.",
		"look for ranks that wait for each other: a collective call that not all ranks make, or a data loader that waits"},
	{LaunchStuck, ByInfrastructure, "an MPI launcher waits although no rank runs",
		"The agents of all pods see no rank, at most launch daemons, while the launcher waits. If ranks ran, they have all ended: the launcher is ended a minute later, and the job ends as its ranks did. If none ever started, the job goes on.",
		"start the job again: some versions of MPI do this now and then (Open MPI 5.0.7 after very short launches); if the message names programs that ranks left behind, end these in the program, or detach their output (`>/dev/null 2>&1 &`)"},
	{WorkerSilent, ByInfrastructure, "a running worker does not answer, although its machine does",
		"The keepalives between launcher and worker: none is answered for 16 s, while the worker's machine acknowledges what it is sent. All processes of the pod are frozen, or get no processor time. The job continues if the worker answers again, and fails as WorkerLost after 50 s.",
		"let the processes of the pod continue (SIGCONT) if they are frozen, and check whether the machine runs more programs than it has processors for"},
	{RankStopped, ByApplication, "a rank is stopped by a signal such as SIGSTOP, and the others wait for it",
		"The agent of the node: the kernel shows the rank as stopped. The job goes on.",
		"let the rank continue (`kubectl mpi exec JOB --rank N -- kill -CONT PID`), or delete the job"},
	{RankHeldUp, ByApplication, "ranks wait for a processor, and others for them",
		"The agent of the node: the kernel counts how long a rank was ready to run and did not. The job goes on.",
		"give pods more CPU, or start fewer ranks on each node"},
	{DeadlineExceeded, ByApplication, "the job took longer than its activeDeadlineSeconds, or than the maxDuration of its runtime",
		"spec.activeDeadlineSeconds of the TrainJob and the clock of the controller; for maxDuration the launcher's Job, whose own deadline it is.",
		"raise spec.activeDeadlineSeconds, use a runtime that allows more, or make the job shorter; checkpoints let a later job go on"},
	// MPI.
	{MPIAborted, ByApplication, "a rank called MPI_Abort",
		"What MPI printed.",
		"read the lines that the rank printed before it called MPI_Abort"},
	{MPIPortsBlocked, ByRequest, "ranks cannot connect to each other",
		"What MPI printed: the launch worked over port 2222, the connections between ranks did not. Or the command failed while a connection between pods of the job stayed without an answer: for 10 s in a launch, for a minute once a rank ran. A running job shows such a connection as a warning, after some 10 to 20 s; it does not end the job.",
		"check that MPI uses the interface of the pods (UCX_NET_DEVICES, btl_tcp_if_include, FI_TCP_IFACE), and NetworkPolicies: MPI uses any port between the pods of a job, the policy of the job opens them all"},
	{MPIVersionMismatch, ByApplication, "launcher and ranks use different MPI libraries or versions",
		"What MPI printed.",
		"use one image for launcher and workers, and build the program with the MPI of that image"},
	{NotEnoughSlots, ByApplication, "the command asks for more ranks than there are slots",
		"What mpirun printed.",
		"start at most `--nodes` × `--slots` ranks (numNodes × numProcPerNode), or raise the slots; `mpirun --map-by :OVERSUBSCRIBE` (Open MPI 5) or `--oversubscribe` (Open MPI 4) runs more than one rank per slot"},
	{LaunchDaemonLost, ByInfrastructure, "the MPI launcher lost a daemon on a node",
		"The agent of the node saw its daemon die, or mpirun printed it. Open MPI 5 may exit with 0 after that.",
		"look at the log of the launcher; if the worker's daemon could not start, check that the image has the MPI of the runtime, and that no NetworkPolicy refuses connections between the pods of the job (MPI uses any port)"},
	{MPIFailed, ByApplication, "MPI reported an error and ended the job",
		"What MPI printed.",
		"read the error: it names the call that failed"},
	// Programs.
	{CUDAOutOfMemory, ByApplication, "a GPU has not enough memory for the program",
		"What the program printed.",
		"use a smaller batch, gradient accumulation or checkpointing, mixed precision, or more GPUs; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps against fragmentation"},
	{GPUUnavailable, ByRequest, "the program finds no GPU",
		"What the program printed.",
		"ask for GPUs in spec.trainer.resourcesPerNode or take a runtime with a GPU profile; compare CUDA_VISIBLE_DEVICES with numProcPerNode"},
	{GPUDriverTooOld, ByRequest, "the machine's GPU driver is too old for the CUDA of the image",
		"What the program printed.",
		"use an image with an older CUDA, or ask who runs the cluster for a newer driver"},
	{GPUHardwareError, ByInfrastructure, "a GPU failed: uncorrectable memory error, or fallen off the bus",
		"What the program or the driver printed.",
		"start the job again on other machines, and tell who runs the cluster to drain the machine"},
	{CUDAFailed, ByApplication, "a kernel of the program failed on a GPU: an assertion, or an address that is not its own",
		"What the program or its kernel printed.",
		"an assertion says what was out of range, most often an index or a label; kernels fail later than they are called, so run once with CUDA_LAUNCH_BLOCKING=1 for a traceback that points at the call, or under compute-sanitizer"},
	{NCCLFailed, ByApplication, "NCCL could not set up or lost the connections between GPUs",
		"What NCCL printed.",
		"set NCCL_DEBUG=INFO for the reason; check NCCL_SOCKET_IFNAME and, without InfiniBand, NCCL_IB_DISABLE=1; another rank that failed before is the usual cause; where two ranks have one GPU, let each choose by its local rank"},
	{NCCLTimeout, ByApplication, "a collective operation of NCCL did not end in time",
		"What the program's watchdog printed.",
		"look at the rank that did not come to the operation: it failed, hangs, or does other work than the rest"},
	{RDMAFailed, ByInfrastructure, "InfiniBand or RoCE failed",
		"What NCCL, UCX or verbs printed.",
		"check the RDMA devices of the machine and pod, locked memory (`ulimit -l` unlimited), and NCCL_IB_HCA and NCCL_IB_GID_INDEX"},
	{OutOfMemory, ByApplication,
		"the program could not allocate memory, and was not killed for it",
		"What the program printed.", "raise the memory limit (spec.trainer.resourcesPerNode) or use less: smaller batches, fewer data loader workers"},
	{PythonException, ByApplication, "a Python program ended with an exception",
		"The last line of the traceback.",
		"correct the program at the last frame of the traceback that is your own code; " +
			"earlier lines of the ranks are in the log of the launcher"},
	{PythonModuleMissing, ByApplication, "a Python module is not in the image",
		"The last line of the traceback.",
		"install the module in the image, and use the same image for launcher and workers; " +
			"a module of your own may travel with `--files`"},
	{LibraryMissing, ByApplication, "a shared library is not in the image",
		"What the dynamic linker printed.",
		"install the library in the image, or set LD_LIBRARY_PATH; use the same image for launcher and workers"},
	{SharedMemoryTooSmall, ByRequest, "/dev/shm is too small for the program",
		"The signal SIGBUS together with what the program printed.",
		"take a runtime with a larger sharedMemory, or use fewer data loader workers"},
	{DiskFull, ByApplication, "a file system is full",
		"What the program printed (ENOSPC).",
		"write to a larger volume, delete old checkpoints, or raise the ephemeral storage of the pods"},
	{ReadOnlyFileSystem, ByApplication, "the program wrote to a file system that is read-only",
		"What the program printed (EROFS).",
		"write to a claim (`kubectl mpi submit --pvc CLAIM:/FOLDER`), or to /tmp if the file may go with the pod; " +
			"/workspace, with the files of --files, is read-only"},
	{PeerFailed, ByApplication, "a rank ended because another one had failed before",
		"What the program printed; the rank that failed first is not known.",
		"look for the first error in the logs of the other workers"},
}
