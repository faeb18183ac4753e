// Package plan holds what is compiled for one cluster, complete and immutable: all references followed, all defaults
// applied, all derived values computed. Checks judge it, lowering reads it; neither sees a spec.
//
// Every value that a check may complain about knows its place in the specs.
package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// Value is a value and its place: where it is written, or for a default the nearest key around it.
type Value[T any] struct {
	V  T
	At source.Span
}

// Cluster is everything that is compiled for one cluster.
type Cluster struct {
	Name      Value[string]
	OpenShift bool
	// Version is the Kubernetes version, Minor its second number.
	Version Value[string]
	Minor   int
	// Bundled says that our controller executes TrainJobs.
	Bundled Value[bool]
	// Agent is how mpi-agent gets into pods.
	AgentImage   Value[string]
	ImageVolumes Value[bool]
	// User is nil where the platform assigns users.
	User           Value[*template.User]
	RequireDigests bool
	DNS            DNS
	// ControllerNamespace is where mpi-controller lives.
	ControllerNamespace Value[string]
	// Runtimes, Tenants and Components are sorted by name.
	Runtimes   []*Runtime
	Tenants    []*Tenant
	Components []Component
	// Accelerators are the extended resources of the cluster's machines, sorted, also those that no runtime uses.
	Accelerators []string
	// Partial says that specs were left out because of mistakes in them: what is missing here may exist.
	Partial bool
}

// PlatformNamespaces returns the namespaces of the controller and the components, sorted, each once. The compiler makes them.
func (c *Cluster) PlatformNamespaces() []string {
	names := []string{c.ControllerNamespace.V}
	for _, component := range c.Components {
		names = append(names, component.Namespace.V)
	}
	return unique(names)
}

// DNS selects the pods that answer DNS.
type DNS struct {
	Namespace Value[string]
	PodLabels map[string]string
	Port      int32
}

// Component is one release of a Helm chart.
type Component struct {
	// Chart is a folder in the repository.
	Chart     Value[string]
	Release   Value[string]
	Namespace Value[string]
	Values    map[string]any
}

// Profile is what a machine offers.
type Profile struct {
	Name string
	// Ethernet says that the fabric is plain Ethernet.
	Ethernet    Value[bool]
	Fabric      string
	Interface   string
	CPU, Memory Value[resource.Quantity]
	// Accelerator is the extended resource, or "".
	Accelerator  string
	Accelerators int32
	NodeSelector map[string]string
	Tolerations  []corev1.Toleration
	SharedMemory *resource.Quantity
	Env          []Variable
}

// Variable is an environment variable.
type Variable struct {
	Name  Value[string]
	Value string
	Why   string
}

// Runtime is a catalog entry.
type Runtime struct {
	Name        Value[string]
	Description string
	// Framework is the value of upstream's framework label.
	Framework      string
	Implementation mpi.Implementation
	Version        Value[string]
	Image          Value[string]
	Profile        *Profile
	// DefaultNodes is what a TrainJob gets that asks for nothing; MinNodes <= DefaultNodes <= MaxNodes.
	DefaultNodes, MinNodes, MaxNodes Value[int32]
	// Slots is the number of ranks per node; 0 for `auto` without accelerators.
	Slots Value[int32]
	// CPU and Memory are those of one node.
	CPU, Memory                 Value[resource.Quantity]
	LauncherCPU, LauncherMemory Value[resource.Quantity]
	LauncherRunsRanks           bool
	Env                         []Variable
	Deprecated, Retired         bool
	// Tenants may use the runtime; empty means all.
	Tenants []string
}

// Tenant is a team on one cluster.
type Tenant struct {
	Name                     Value[string]
	DisplayName              string
	Admins, Editors, Viewers []string
	Namespaces               []Value[string]
	// Named are the runtimes that the spec names.
	Named []Use
	// Usable are the runtimes that the tenant can use on this cluster, sorted by name.
	Usable      []*Runtime
	Quota       Quota
	Limits      Limits
	Egress      []Egress
	IngressFrom []Value[string]
	PodSecurity string
}

// Use is a runtime that a tenant names.
type Use struct {
	Name    Value[string]
	Runtime *Runtime
	// Here says that the runtime is compiled for this cluster.
	Here bool
}

// Quota is what each namespace of a tenant may hold.
type Quota struct {
	CPU, Memory Value[resource.Quantity]
	Pods, Jobs  Value[int64]
	// Accelerators has an entry for each of the cluster's, 0 where the spec leaves it out: what a ResourceQuota does not
	// list is unlimited.
	Accelerators map[string]Value[resource.Quantity]
}

// Limits bound one container.
type Limits struct {
	// MaxCPU and MaxMemory are nil for no bound.
	MaxCPU, MaxMemory         Value[*resource.Quantity]
	DefaultCPU, DefaultMemory Value[resource.Quantity]
}

// Egress is an address range and ports; no ports means all.
type Egress struct {
	CIDR  Value[string]
	Ports []Port
}

// Port is a port of TCP or UDP.
type Port struct {
	Protocol corev1.Protocol
	Port     int32
}
