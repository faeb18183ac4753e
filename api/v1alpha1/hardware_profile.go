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
	Node NodeOffer `json:"node" jsonschema:"required"`
	// Accelerator is the device of which each node of a job gets all; missing for machines without.
	Accelerator *Accelerator `json:"accelerator,omitempty"`
	// NodeSelector holds labels that a machine of this kind has.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" jsonschema:"format=label-value"`
	// Tolerations admit the nodes of a job to tainted machines.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// SharedMemory is the size of /dev/shm in bytes, taken from the memory of the node. Missing means the container
	// runtime's 64Mi, which is too small for most MPI libraries' shared-memory transport with many ranks.
	SharedMemory *resource.Quantity `json:"sharedMemory,omitempty" jsonschema:"minimum=1Mi"`
	// Env is set in the launcher and in all nodes, after the environment of the MPI implementation.
	Env []Variable `json:"env,omitempty"`
}

// FabricType is a kind of network.
type FabricType string

// The fabrics. Only Ethernet is compiled today.
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
	// Interface is the name of the interface in the pod that MPI may use: 1 to 15 of letters, digits, `_`, `.` and `-`.
	Interface string `json:"interface,omitempty" jsonschema:"format=interface-name,default=eth0"`
}

// NodeOffer is the CPU and memory of one machine.
type NodeOffer struct {
	// CPU is in cores.
	CPU resource.Quantity `json:"cpu" jsonschema:"required,minimum=1m"`
	// Memory is in bytes.
	Memory resource.Quantity `json:"memory" jsonschema:"required,minimum=1Mi"`
}

// Accelerator is a device that Kubernetes counts as an extended resource.
type Accelerator struct {
	// Resource is the name of the extended resource, for example nvidia.com/gpu.
	Resource string `json:"resource" jsonschema:"required,format=resource-name"`
	// Count is how many one machine has, 1 to 64.
	Count int32 `json:"count" jsonschema:"required,minimum=1,maximum=64"`
}

// Toleration is a toleration of a pod, with the meaning that Kubernetes gives it.
type Toleration struct {
	// Key of the taint; empty with operator Exists matches all.
	Key string `json:"key,omitempty"`
	// Operator says whether Value counts.
	Operator string `json:"operator,omitempty" jsonschema:"enum=Exists,enum=Equal,default=Equal"`
	// Value of the taint, for Equal.
	Value string `json:"value,omitempty"`
	// Effect of the taint; empty means all.
	Effect string `json:"effect,omitempty" jsonschema:"enum=NoSchedule,enum=PreferNoSchedule,enum=NoExecute"`
}
