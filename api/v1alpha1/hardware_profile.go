package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// HardwareProfile is what one machine of a kind offers to MPI jobs.
type HardwareProfile struct {
	TypeMeta
	Metadata Metadata            `json:"metadata" jsonschema:"required"`
	Spec     HardwareProfileSpec `json:"spec" jsonschema:"required"`
}

// HardwareProfileSpec is the body of a HardwareProfile.
type HardwareProfileSpec struct {
	// Fabric is the network that ranks use.
	Fabric Fabric `json:"fabric" jsonschema:"required"`
	// Node is what one machine offers to jobs: its allocatable resources less what daemons take.
	Node NodeAllocatable `json:"node" jsonschema:"required"`
	// Accelerator is the device of which each node of a job gets all; missing for machines without.
	Accelerator *Accelerator `json:"accelerator,omitempty"`
	// HugePages are reserved on each machine; fabrics such as EFA need them.
	HugePages *HugePages `json:"hugePages,omitempty"`
	// Topology names the levels above the machine, the widest first, for placement that keeps the nodes of a job close.
	Topology []TopologyLevel `json:"topology,omitempty"`
	// NodeSelector holds labels that a machine of this kind has.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" jsonschema:"format=label-value"`
	// Tolerations admit the nodes of a job to tainted machines.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// SharedMemory is the size of /dev/shm in bytes, taken from the memory of the node. Missing means the container
	// runtime's 64Mi, which is too small for most MPI libraries' shared-memory transport with many ranks.
	SharedMemory *resource.Quantity `json:"sharedMemory,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti"`
	// Env is set in the launcher and in all nodes, after the environment of the MPI implementation and of the fabric.
	Env []Variable `json:"env,omitempty"`
	// Waivers accept findings about this profile.
	Waivers []Waiver `json:"waivers,omitempty"`
}

// FabricType is a kind of network.
type FabricType string

// The fabrics. On all but Ethernet the device is given to pods by a device plugin and memory is pinned for it, so their pods need
// the capability IPC_LOCK.
const (
	InfiniBand FabricType = "InfiniBand"
	RoCE       FabricType = "RoCE"
	EFA        FabricType = "EFA"
	Ethernet   FabricType = "Ethernet"
)

// Fabric is a network for MPI traffic.
type Fabric struct {
	// Type is the kind of network.
	Type FabricType `json:"type" jsonschema:"required,enum=InfiniBand,enum=RoCE,enum=EFA,enum=Ethernet"`
	// Interface is the name of the interface in the pod that carries TCP: all traffic on Ethernet, the start of daemons and the
	// bootstrap of NCCL and UCX elsewhere. 1 to 15 of letters, digits, `_`, `.` and `-`.
	Interface string `json:"interface,omitempty" jsonschema:"format=interface-name,default=eth0"`
	// Resource is the extended resource that the device plugin offers, for example rdma/hca_shared, openshift.io/ibsriov or
	// vpc.amazonaws.com/efa. Required for every fabric but Ethernet.
	Resource string `json:"resource,omitempty" jsonschema:"format=resource-name"`
	// Count is how many of Resource each node of a job takes, 1 to 64; missing means 1.
	Count int32 `json:"count,omitempty" jsonschema:"minimum=1,maximum=64,default=1"`
	// Networks are Multus networks that pods are attached to, as `namespace/name`, in the order of their interfaces net1, net2, ….
	Networks []string `json:"networks,omitempty" jsonschema:"uniqueItems,format=network"`
	// HCAs are the adapters that NCCL and UCX may use, for example mlx5_0; missing means all that the pod sees.
	HCAs []string `json:"hcas,omitempty" jsonschema:"uniqueItems,format=device"`
	// GIDIndex selects the address of a RoCE port, 0 to 255; 3 is RoCE v2 over IPv4 on most machines. Required for RoCE.
	GIDIndex *int32 `json:"gidIndex,omitempty" jsonschema:"minimum=0,maximum=255"`
	// GPUDirect says that the adapters read and write the accelerators' memory themselves (GPUDirect RDMA).
	GPUDirect bool `json:"gpuDirect,omitempty"`
	// LockedMemory says how pods may pin memory for the adapters: with the capability IPC_LOCK, or because the machines' container
	// runtime sets no limit for locked memory (LimitMEMLOCK=infinity), which needs no capability. It has no meaning on Ethernet.
	LockedMemory string `json:"lockedMemory,omitempty" jsonschema:"enum=Capability,enum=Unlimited,default=Capability"`
}

// LockedByCapability is the value of LockedMemory for machines that bound how much memory a process may pin.
const LockedByCapability = "Capability"

// HugePages is an amount of pages of one size.
type HugePages struct {
	// Size of a page.
	Size string `json:"size" jsonschema:"required,enum=2Mi,enum=1Gi"`
	// Amount is what each node of a job takes, in bytes, a multiple of Size.
	Amount resource.Quantity `json:"amount" jsonschema:"required,minimum=2Mi,maximum=64Ti"`
}

// TopologyLevel is a group of machines that share a part of the network.
type TopologyLevel struct {
	// Name is how a runtime refers to the level, for example block or rack.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// NodeLabel is the label whose value tells the groups apart.
	NodeLabel string `json:"nodeLabel" jsonschema:"required,format=label-name"`
}

// NodeAllocatable is the CPU and memory of one machine.
type NodeAllocatable struct {
	// CPU is in cores, up to 10k.
	CPU resource.Quantity `json:"cpu" jsonschema:"required,minimum=1m,maximum=10k"`
	// Memory is in bytes, up to 64Ti.
	Memory resource.Quantity `json:"memory" jsonschema:"required,minimum=1Mi,maximum=64Ti"`
}

// Accelerator is a device that Kubernetes counts as an extended resource.
type Accelerator struct {
	// Resource is the name of the extended resource, for example nvidia.com/gpu.
	Resource string `json:"resource" jsonschema:"required,format=resource-name"`
	// Count is how many one machine has, 1 to 64.
	Count int32 `json:"count" jsonschema:"required,minimum=1,maximum=64"`
	// Product is the device's name in node labels, for example NVIDIA-H100-80GB-HBM3. With nvidia.com/gpu it becomes the node
	// selector nvidia.com/gpu.product, so that a job for one product never lands on another.
	Product string `json:"product,omitempty" jsonschema:"format=label-value"`
}

// Toleration is a toleration of a pod, with the meaning that Kubernetes gives it.
type Toleration struct {
	// Key of the taint; empty with operator Exists matches all.
	Key string `json:"key,omitempty"`
	// Operator decides whether Value counts.
	Operator string `json:"operator,omitempty" jsonschema:"enum=Exists,enum=Equal,default=Equal"`
	// Value of the taint, for Equal.
	Value string `json:"value,omitempty"`
	// Effect of the taint; missing means all.
	Effect string `json:"effect,omitempty" jsonschema:"enum=NoSchedule,enum=PreferNoSchedule,enum=NoExecute"`
}
