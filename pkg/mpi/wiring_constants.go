package mpi

// Names that upstream fixes. Kubeflow Trainer finds the parts of a job by them (kubeflow/trainer pkg/constants), JobSet
// and the Kubeflow SDK rely on them, so the portable runtime uses them unchanged.
const (
	// LauncherJob and NodeJob are the replicated jobs of the JobSet.
	LauncherJob = "launcher"
	NodeJob     = "node"
	// Container is the name of the main container in both.
	Container = "node"

	// FrameworkLabel on a runtime names the framework; upstream requires it.
	FrameworkLabel = "trainer.kubeflow.org/framework"
	// AncestorLabel marks the Job template that takes the user's image and command; its value here is AncestorTrainer.
	AncestorLabel   = "trainer.kubeflow.org/trainjob-ancestor-step"
	AncestorTrainer = "trainer"

	// SSHAuthVolume holds the key of the job, in the launcher and in every node.
	SSHAuthVolume = "mpi-ssh-auth"
	// PrivateKeyFile is the private key inside SSHAuthMountPath, PublicKeyFile the public one.
	PrivateKeyFile     = "id_rsa"
	PublicKeyFile      = "id_rsa.pub"
	AuthorizedKeysFile = "authorized_keys"
	// PrivateKeyKey and PublicKeyKey are the keys of the Secret's data.
	PrivateKeyKey = "ssh-privatekey"
	PublicKeyKey  = "ssh-publickey"

	// HostfileVolume is mounted at HostfileDir in the launcher and holds one file, HostfileKey.
	HostfileVolume = "mpi-hostfile"
	HostfileDir    = "/etc/mpi"
	HostfileKey    = "hostfile"
	HostfilePath   = HostfileDir + "/" + HostfileKey

	// JobSetNameLabel, ReplicatedJobLabel, JobSetUIDLabel and CompletionIndexLabel are on every pod of a job.
	JobSetNameLabel    = "jobset.sigs.k8s.io/jobset-name"
	JobSetUIDLabel     = "jobset.sigs.k8s.io/jobset-uid"
	ReplicatedJobLabel = "jobset.sigs.k8s.io/replicatedjob-name"
	// JobSetAttemptLabel counts the restarts that JobSet makes itself, under Kubeflow Trainer.
	JobSetAttemptLabel   = "jobset.sigs.k8s.io/restart-attempt"
	CompletionIndexLabel = "batch.kubernetes.io/job-completion-index"
)

// MaxArgumentBytes is the length of the longest argument, or variable as `NAME=VALUE`, of a program: Linux takes
// 128 KiB with the zero byte at its end (MAX_ARG_STRLEN, execve(2)).
const MaxArgumentBytes = 128<<10 - 1

// Names that are ours.
const (
	// ImplementationLabel on a runtime holds the Implementation. A runtime without it is not compiled by us. The
	// field mlPolicy.mpi.mpiImplementation cannot say it: upstream admits only OpenMPI there.
	ImplementationLabel = "lockstep.dev/mpi-implementation"
	// VersionLabel on a runtime holds the version of the implementation, for example "5.0.7".
	VersionLabel = "lockstep.dev/mpi-version"
	// TrainJobLabel is on every object and pod of a job; its value is the name of the TrainJob. It is on the TrainJob itself too, for people:
	// nothing is decided by it there, because users may write it.
	TrainJobLabel = "lockstep.dev/trainjob"
	// AttemptLabel counts the restarts of a job on its pods. The pods of the first attempt have no such label.
	AttemptLabel = "lockstep.dev/attempt"
	// UserAnnotation of a TrainJob names the user who submitted it. Users may write it: it proves nothing.
	UserAnnotation = "lockstep.dev/user"
	// TenantLabel is on every namespace and object of a tenant.
	TenantLabel = "lockstep.dev/tenant"
	// TemplatesLabel marks ConfigMaps whose values are TrainJobs to begin with.
	TemplatesLabel = "lockstep.dev/templates"

	// FinishedJobsAnnotation on a namespace is how long its finished TrainJobs are kept before mpi-controller deletes them: a Go duration such
	// as `168h`. Without it they stay.
	FinishedJobsAnnotation = "lockstep.dev/finished-jobs-kept-for"

	// DescriptionAnnotation on a runtime is a sentence for people who choose one, DocumentationAnnotation a page about it.
	DescriptionAnnotation   = "lockstep.dev/description"
	DocumentationAnnotation = "lockstep.dev/documentation"
	// MinNodesAnnotation and MaxNodesAnnotation on a runtime bound the nodes of a job; a runtime without them has no bounds.
	MinNodesAnnotation = "lockstep.dev/min-nodes"
	MaxNodesAnnotation = "lockstep.dev/max-nodes"
	// MachineAnnotation on a runtime is the most that a node of a job may ask for, the resources of one machine of its
	// profile: `cpu=96,memory=1Ti,nvidia.com/gpu=8`.
	MachineAnnotation = "lockstep.dev/machine"
	// PriceAnnotation on a runtime is what one node of a job costs in an hour, a decimal number such as `24.5`, in whatever currency the platform counts.
	PriceAnnotation = "lockstep.dev/node-price-per-hour"
	// LogsAnnotation on a runtime is the URL by which people see the logs of its jobs that are over, with {namespace}, {job}, {from} and {to} in place of
	// their names and times.
	LogsAnnotation = "lockstep.dev/logs"
	// DocsAnnotation on a runtime is the address before the path of a page of docs, for links to the pages of reasons:
	// DocsAnnotation/failures/OOMKilled.
	DocsAnnotation = "lockstep.dev/docs"
	// FingerprintAnnotation on a runtime is a digest of what its pods are. It changes when they do, and is what a certification is of.
	FingerprintAnnotation = "lockstep.dev/fingerprint"
	// CertifiedLabel on a runtime is the day on which a probe of it held on the cluster, as `2026-11-26`, or CertifiedStale where its pods have become
	// others since. CertificationAnnotation has what was measured, in words.
	CertifiedLabel          = "lockstep.dev/certified"
	CertifiedStale          = "stale"
	CertificationAnnotation = "lockstep.dev/certification"
	// RestartsAnnotation on a runtime is how often mpi-controller starts a job again after a fault of the infrastructure.
	RestartsAnnotation = "lockstep.dev/restarts"
	// GangTimeoutAnnotation on a runtime is how long mpi-controller waits for all pods of a job to run, whatever schedules them
	// together: a Go duration such as `10m`.
	GangTimeoutAnnotation = "lockstep.dev/gang-timeout"

	// ControllerLabel is on the pods of mpi-controller; the NetworkPolicy of a job admits them to the agents of the job.
	// Its value is ControllerName, which also owns the fields that mpi-controller writes, and names its lease.
	ControllerLabel = "app.kubernetes.io/name"
	ControllerName  = "mpi-controller"

	// InstallContainer is the init container that brings the agent where an image cannot be mounted, GateContainer the one of the
	// launcher that waits for the nodes where stock Kubeflow Trainer replaces our command.
	InstallContainer = "install-agent"
	GateContainer    = "gate"

	// AgentName begins the lines of the agent. It prints one before it starts the program of a container.
	AgentName = "mpi-agent"
	// AgentPort is where every agent listens, in the launcher (while it waits) and in the nodes. It is above 1024, so
	// that no capability is needed.
	AgentPort = 2222
	// AgentDir is where the agent is mounted, AgentBin the binary, RshBin and SSHBin the names under which MPI
	// launchers call it.
	AgentVolume = "lockstep-agent"
	AgentDir    = "/opt/lockstep"
	AgentBin    = AgentDir + "/bin/" + AgentName
	RshBin      = AgentDir + "/bin/rsh"
	SSHBin      = AgentDir + "/bin/ssh"
	// SSHAuthMountPath is where a compiled runtime mounts the key of the job.
	SSHAuthMountPath = "/var/run/secrets/lockstep.dev/mpi-ssh"
	// StateDir is an emptyDir of the launcher and of each node, private to the pod. The agent keeps the table of
	// hosts (HostTablePath) and the Hydra hostfile (HydraHostfilePath) there: /etc/mpi is a read-only ConfigMap.
	StateVolume = "lockstep-state"
	// UserHome is an emptyDir of all pods: DEFAULT_MPI_USER_HOME of Kubeflow's SDK, which has every rank write the program there that it was
	// given as a function (kubeflow 0.5.0, trainer/constants).
	UserHomeVolume    = "lockstep-user-home"
	UserHome          = "/home/mpiuser"
	StateDir          = "/run/lockstep"
	HostTablePath     = StateDir + "/hosts.json"
	HydraHostfilePath = StateDir + "/hostfile.hydra"
	// HostsKey is a hosts file in StateDir. The gate of an init container writes it, for the launcher's container to mount
	// it at HostsPath.
	HostsKey  = "hosts"
	HostsPath = "/etc/hosts"
)

// SSHAuthSecretName returns the name of the Secret with the key of the job, as upstream names it.
func SSHAuthSecretName(trainJob string) string { return trainJob + "-mpi-ssh-auth" }

// HostfileConfigMapName returns the name of the ConfigMap with the hostfile, as upstream names it.
func HostfileConfigMapName(trainJob string) string { return trainJob + "-mpi-hostfile" }

// NetworkPolicyName returns the name of the job's NetworkPolicy.
func NetworkPolicyName(trainJob string) string { return trainJob + "-mpi" }
