package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MPIRuntime is a catalog entry that a TrainJob can name. It compiles to one ClusterTrainingRuntime per cluster.
type MPIRuntime struct {
	TypeMeta
	Metadata Metadata       `json:"metadata" jsonschema:"required"`
	Spec     MPIRuntimeSpec `json:"spec" jsonschema:"required"`
}

// MPIRuntimeSpec is the body of an MPIRuntime.
type MPIRuntimeSpec struct {
	// Description is one sentence for people who choose a runtime.
	Description string `json:"description,omitempty"`
	// Documentation is the address of a page about the runtime, such as its guide or the notes of its image.
	Documentation string `json:"documentation,omitempty" jsonschema:"format=https-url"`
	// Framework is what the image trains with. It becomes upstream's framework label.
	Framework Framework `json:"framework,omitempty" jsonschema:"enum=MPI,enum=Horovod,enum=DeepSpeed,enum=PyTorch,enum=TensorFlow,default=MPI"`
	// MPI says which library is in the image.
	MPI MPI `json:"mpi" jsonschema:"required"`
	// Image is used by launcher and nodes until a TrainJob names another.
	Image string `json:"image" jsonschema:"required,format=image"`
	// Profile names the HardwareProfile of the machines that run the nodes.
	Profile string `json:"profile" jsonschema:"required,format=dns-label"`
	// Nodes is how many nodes a job may have. A launcher that runs ranks is one of them.
	Nodes Nodes `json:"nodes,omitempty"`
	// SlotsPerNode is how many ranks one node may run: a number from 1 to 1024, or `auto` for one per accelerator.
	SlotsPerNode intstr.IntOrString `json:"slotsPerNode,omitempty" jsonschema:"minimum=1,maximum=1024,enum=auto,default=1"`
	// ResourcesPerNode is what one node of a job takes; what it leaves out comes from the profile.
	ResourcesPerNode NodeResources `json:"resourcesPerNode,omitempty"`
	// Launcher is the pod that runs mpirun.
	Launcher Launcher `json:"launcher,omitempty"`
	// Gang is how the pods of a job are scheduled together.
	Gang Gang `json:"gang,omitempty"`
	// Restarts is how often a job is started again after the loss of a machine, a preemption or an eviction, 0 to 10. A failure of
	// the program itself is never repeated.
	Restarts int32 `json:"restarts,omitempty" jsonschema:"minimum=0,maximum=10,default=0"`
	// MaxDuration ends a job that runs longer, for example 72h; missing means no end.
	MaxDuration string `json:"maxDuration,omitempty" jsonschema:"format=duration"`
	// Volumes are mounted in the launcher and in all nodes.
	Volumes []Volume `json:"volumes,omitempty"`
	// Env is set in the launcher and in all nodes. It wins over the profile's.
	Env []Variable `json:"env,omitempty"`
	// Lifecycle decides whether new jobs may use the runtime. Deprecated warns; Retired is no longer compiled.
	Lifecycle Lifecycle `json:"lifecycle,omitempty" jsonschema:"enum=Active,enum=Deprecated,enum=Retired,default=Active"`
	// Deprecation says what comes instead and when; it belongs to a runtime that is Deprecated or Retired.
	Deprecation *Deprecation `json:"deprecation,omitempty"`
	// Tenants are the names of those that may use the runtime; empty means all.
	Tenants []string `json:"tenants,omitempty" jsonschema:"format=dns-label,uniqueItems"`
	// Default marks the runtime that tools offer first; at most one per cluster and tenant should be.
	Default bool `json:"default,omitempty"`
	// Waivers accept findings about this runtime.
	Waivers []Waiver `json:"waivers,omitempty"`
}

// Gang is how the pods of a job are scheduled together: all or none.
type Gang struct {
	// Scheduler decides. None starts pods as they fit, and two large jobs may block each other. Kueue admits whole jobs where the
	// cluster queues, and nothing else is needed; the others are schedulers that the cluster must offer.
	Scheduler GangScheduler `json:"scheduler,omitempty" jsonschema:"enum=None,enum=Kueue,enum=Coscheduling,enum=Volcano,default=None"`
	// Timeout is how long all pods of a job may take until they run, from the moment the job may start, 1s to 1h; missing means 5m.
	// Coscheduling holds machines for an incomplete gang as long. A job that is not complete by then ends, under any scheduler but None.
	Timeout string `json:"timeout,omitempty" jsonschema:"format=duration,default=5m"`
	// Priority names one of the cluster's priorities; missing means that of the cluster.
	Priority string `json:"priority,omitempty" jsonschema:"format=dns-label"`
	// Within names a topology level of the profile that should hold all nodes of a job; missing means that placement does not matter.
	Within string `json:"within,omitempty" jsonschema:"format=dns-label"`
}

// GangScheduler is what schedules a gang.
type GangScheduler string

// The gang schedulers.
const (
	GangNone         GangScheduler = "None"
	GangKueue        GangScheduler = "Kueue"
	GangCoscheduling GangScheduler = "Coscheduling"
	GangVolcano      GangScheduler = "Volcano"
)

// Volume is a folder in the pods of a job. Exactly one of Claim and Scratch says what is behind it.
type Volume struct {
	// Name tells the volumes of a runtime apart. Names that begin with `mpi-` are reserved.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// MountPath is an absolute path without `..`.
	MountPath string `json:"mountPath" jsonschema:"required,format=mount-path"`
	// Claim is a PersistentVolumeClaim that every namespace with jobs of the runtime must have.
	Claim string `json:"claim,omitempty" jsonschema:"format=dns-label"`
	// Scratch is the size of an empty folder on the machine's disk that goes when the pod goes.
	Scratch *resource.Quantity `json:"scratch,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti"`
	// ReadOnly forbids writing; only with Claim.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Deprecation is the end of a runtime.
type Deprecation struct {
	// Successor names the runtime that users should take.
	Successor string `json:"successor,omitempty" jsonschema:"format=dns-label"`
	// RetireOn is the day after which the runtime should be Retired, as 2027-03-31. From then on a Deprecated runtime is a finding.
	RetireOn string `json:"retireOn,omitempty" jsonschema:"format=date"`
	// Reason is one sentence for users.
	Reason string `json:"reason,omitempty"`
}

// Framework is what an image trains with.
type Framework string

// The frameworks. MPI is a plain MPI program.
const (
	FrameworkMPI        Framework = "MPI"
	FrameworkHorovod    Framework = "Horovod"
	FrameworkDeepSpeed  Framework = "DeepSpeed"
	FrameworkPyTorch    Framework = "PyTorch"
	FrameworkTensorFlow Framework = "TensorFlow"
)

// MPI is a library and its version. Both select the environment: Open MPI changed it between 4 and 5.
type MPI struct {
	// Implementation is the library family.
	Implementation string `json:"implementation" jsonschema:"required,enum=OpenMPI,enum=IntelMPI,enum=MPICH"`
	// Version starts with the major number, for example "5.0.7". Open MPI before 4 is not supported.
	Version string `json:"version" jsonschema:"required,format=mpi-version"`
}

// Nodes is a number of nodes and its bounds. The compiler checks that Default is within them and that the default job fits the quota;
// in the cluster an admission policy holds them, from Kubernetes 1.30 on.
type Nodes struct {
	// Default is what a TrainJob gets that asks for nothing; missing means Min.
	Default int32 `json:"default,omitempty" jsonschema:"minimum=1,maximum=1000"`
	// Min is the least number, 1 to 1000.
	Min int32 `json:"min,omitempty" jsonschema:"minimum=1,maximum=1000,default=1"`
	// Max is the greatest number, 1 to 1000. 100 is as far as upstream's users report success.
	Max int32 `json:"max,omitempty" jsonschema:"minimum=1,maximum=1000,default=100"`
}

// NodeResources is a share of a machine.
type NodeResources struct {
	// CPU is in cores, up to 10k; missing means all that the profile offers.
	CPU *resource.Quantity `json:"cpu,omitempty" jsonschema:"minimum=1m,maximum=10k"`
	// Memory is in bytes, up to 64Ti; missing means all that the profile offers.
	Memory *resource.Quantity `json:"memory,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti"`
}

// Launcher is the pod that runs mpirun.
type Launcher struct {
	// CPU is in cores, up to 10k. It has no meaning when RunsRanks is true: the launcher then takes what a node takes.
	CPU resource.Quantity `json:"cpu,omitempty" jsonschema:"minimum=1m,maximum=10k,default=500m"`
	// Memory is in bytes, up to 64Ti. It has no meaning when RunsRanks is true.
	Memory resource.Quantity `json:"memory,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti,default=256Mi"`
	// RunsRanks makes the launcher the first of the nodes.
	RunsRanks bool `json:"runsRanks,omitempty"`
}

// Lifecycle is the state of a catalog entry.
type Lifecycle string

// The states, in the order in which an entry passes them.
const (
	Active     Lifecycle = "Active"
	Deprecated Lifecycle = "Deprecated"
	Retired    Lifecycle = "Retired"
)
