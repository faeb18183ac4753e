// Package plan holds what is compiled for one cluster, complete and immutable: all references followed, all defaults
// applied, all derived values computed. Checks judge it, lowering reads it; neither sees a spec.
//
// Every value that reaches an object, or that a check may complain about, knows where it comes from and what it overrode.
package plan

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

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
	AgentImage   Image
	ImageVolumes Value[bool]
	// User is nil where the platform assigns users.
	User           Value[*User]
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
	// Capacity is the machines, sorted by profile; empty where the cluster does not say.
	Capacity []Machines
	// Queueing is nil without Kueue.
	Queueing *Queueing
	// Schedulers are the gang schedulers that run on the cluster.
	Schedulers []Value[string]
	// Priorities are sorted by name.
	Priorities     []Priority
	StorageClasses []Value[string]
	Images         Images
	// Ranges are the addresses of pods and Services, sorted; empty where the cluster does not say.
	Ranges []Value[string]
	// Reserved are the names and beginnings of names of namespaces that the cluster keeps from tenants, sorted.
	Reserved []Value[string]
	// Encryption is what the network does with traffic between machines, `None` for nothing.
	Encryption Value[string]
	// Monitoring and GitOps are nil where nobody does it.
	Monitoring *Monitoring
	GitOps     *GitOps
	Waivers    []Waiver
	// Catalog is all runtimes of the repository, sorted by name, retired ones and those of other clusters included.
	Catalog []*Runtime
	// Today is the day on which the specs are judged, as 2026-11-21, or "" where dates do not matter.
	Today string
	// Partial says that specs were left out because of mistakes in them: what is missing here may exist.
	Partial bool
}

// Compiled returns the runtimes that are compiled for the cluster: those of its catalog, and the variants of its tenants.
func (c *Cluster) Compiled() iter.Seq[*Runtime] {
	return func(yield func(*Runtime) bool) {
		for _, r := range c.Runtimes {
			if !yield(r) {
				return
			}
		}
		for _, t := range c.Tenants {
			for _, v := range t.Variants {
				if !yield(v.Runtime) {
					return
				}
			}
		}
	}
}

// PlatformNamespaces returns the namespaces of the controller and the components, sorted, each once. The compiler makes them.
func (c *Cluster) PlatformNamespaces() []Value[string] {
	names := []Value[string]{c.ControllerNamespace}
	for _, component := range c.Components {
		names = append(names, component.Namespace)
	}
	return byName(names)
}

// User is the identity of the processes of a job.
type User struct {
	UID, GID, FSGroup Value[int64]
}

// DNS selects the pods that answer DNS.
type DNS struct {
	Namespace Value[string]
	// PodLabels are sorted by name.
	PodLabels []Named[string]
	Port      Value[int32]
}

// Profile is what a machine offers.
type Profile struct {
	Name        string
	At          source.Span
	Fabric      Fabric
	CPU, Memory Value[resource.Quantity]
	// Accelerator is the extended resource, or "".
	Accelerator  Value[string]
	Accelerators Value[int32]
	// Product is the accelerator's name in node labels, or "".
	Product Value[string]
	// HugePages is nil where none are reserved.
	HugePages *HugePages
	// Topology is the widest level first.
	Topology []TopologyLevel
	// NodeSelector is sorted by name.
	NodeSelector []Named[string]
	Tolerations  []Value[corev1.Toleration]
	// TolerationFields has the origins of what is in each toleration, by key.
	TolerationFields []map[string]*origin.Origin
	// SharedMemory is nil for what the container runtime gives.
	SharedMemory Value[*resource.Quantity]
	Env          []Variable
	Waivers      []Waiver
}

// Variable is an environment variable.
type Variable struct {
	Name, Value Value[string]
	// Why is the reason that the spec gives, or "".
	Why string
}

// Runtime is a catalog entry.
type Runtime struct {
	Name Value[string]
	// Description may be "".
	Description Value[string]
	// Framework is the value of upstream's framework label.
	Framework      Value[string]
	Implementation Value[mpi.Implementation]
	Version        Value[string]
	Image          Image
	// SecretEnv names a Secret whose keys become environment variables, or "".
	SecretEnv Value[string]
	Profile   *Profile
	// ProfileName is the profile's name where the runtime writes it.
	ProfileName Value[string]
	// DefaultNodes is what a TrainJob gets that asks for nothing; MinNodes <= DefaultNodes <= MaxNodes.
	DefaultNodes, MinNodes, MaxNodes Value[int32]
	// Slots is the number of ranks per node; 0 for `auto` without accelerators.
	Slots Value[int32]
	// CPU and Memory are those of one node.
	CPU, Memory                 Value[resource.Quantity]
	LauncherCPU, LauncherMemory Value[resource.Quantity]
	LauncherRunsRanks           Value[bool]
	Env                         []Variable
	Volumes                     []Volume
	Gang                        Gang
	// Restarts is how often a job is started again after a fault of the infrastructure.
	Restarts Value[int32]
	// MaxDuration is 0 for no end.
	MaxDuration Value[time.Duration]
	Deprecated  Value[bool]
	Retired     bool
	// Deprecation is nil where the spec says nothing about the end.
	Deprecation *Deprecation
	// Tenants may use the runtime; empty means all.
	Tenants []string
	// Default says that tools offer the runtime first.
	Default Value[bool]
	Waivers []Waiver
}

// What schedules a gang.
const (
	GangNone         = string(v1alpha1.GangNone)
	GangKueue        = string(v1alpha1.GangKueue)
	GangCoscheduling = string(v1alpha1.GangCoscheduling)
	GangVolcano      = string(v1alpha1.GangVolcano)
)

// Gang is how the pods of a job are scheduled together.
type Gang struct {
	// Scheduler is one of the names below.
	Scheduler Value[string]
	Timeout   Value[time.Duration]
	// Priority and Within are "" where the spec says nothing.
	Priority, Within Value[string]
}

// Volume is a folder in the pods of a job.
type Volume struct {
	Name, MountPath Value[string]
	// Claim is "" and Scratch nil where the other one says what is behind the folder.
	Claim    Value[string]
	Scratch  Value[*resource.Quantity]
	ReadOnly Value[bool]
}

// Deprecation is the end of a runtime.
type Deprecation struct {
	// Successor, RetireOn (a day as 2027-03-31) and Reason may be "".
	Successor, RetireOn, Reason Value[string]
}

// Tenant is a team on one cluster.
type Tenant struct {
	*TenantSpec
	// Named are the runtimes that the spec names.
	Named []Use
	// Usable are the runtimes that the tenant can use on this cluster, sorted by name.
	Usable []*Runtime
	Quota  Quota
	// Queue is nil where nothing is queued.
	Queue *Queue
	// Ineffective is what the tenant says about queues and devices without effect.
	Ineffective Ineffective
	// Bases are the catalog runtimes that the tenant's variants change, in the order of the spec.
	Bases []Use
	// Variants are those of runtimes that are compiled for this cluster, sorted by name.
	Variants []*Variant
	Waivers  []Waiver
}

// TenantSpec is what the spec of a tenant says, whatever the cluster. Clusters share it.
type TenantSpec struct {
	Name Value[string]
	// DisplayName may be "".
	DisplayName Value[string]
	// Groups per role, and Namespaces, are sorted.
	Admins, Editors, Viewers []Value[string]
	Namespaces               []Value[string]
	// External are the runtimes that the tenant may use and others installed, sorted by name. Nothing else is known of them.
	External    []Value[string]
	Limits      Limits
	Egress      []Egress
	IngressFrom []Value[string]
	PodSecurity Value[string]
	// Encrypted says that the tenant refuses networks in the clear.
	Encrypted Value[bool]
	// Claims are sorted by name.
	Claims      []Claim
	PullSecrets []Value[string]
	// ObjectStore is nil where there is none.
	ObjectStore *ObjectStore
	// KeepFinished is how long finished jobs stay, 0 for ever.
	KeepFinished Value[time.Duration]
}

// Claim is a volume in namespaces of a tenant.
type Claim struct {
	Name   Value[string]
	Size   Value[resource.Quantity]
	Access Value[string]
	// StorageClass is "" for the default one.
	StorageClass Value[string]
	// Namespaces have the claim.
	Namespaces []Value[string]
}

// ObjectStore is a reference to a bucket.
type ObjectStore struct {
	Secret Value[string]
	// Endpoint may be "".
	Endpoint Value[string]
}

// Variant is a runtime of one tenant.
type Variant struct {
	// Base is the catalog runtime, Runtime the result.
	Base, Runtime *Runtime
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
	// Storage is nil where neither the quota nor a claim of the tenant says anything.
	Storage Value[*resource.Quantity]
	// Accelerators has an entry for each of the cluster's, 0 where the spec leaves it out: what a ResourceQuota does not
	// list is unlimited. They are sorted by name.
	Accelerators []Named[resource.Quantity]
}

// Accelerator returns the quota for an extended resource; the zero Value where there is none.
func (q *Quota) Accelerator(name string) Value[resource.Quantity] {
	for i := range q.Accelerators {
		if q.Accelerators[i].Name == name {
			return q.Accelerators[i].Value
		}
	}
	return Value[resource.Quantity]{}
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
	Protocol Value[string]
	Port     Value[int32]
}
