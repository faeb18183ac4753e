// Package plan holds what is compiled for one cluster, complete and immutable: all references followed, all defaults
// applied, all derived values computed. Checks judge it, lowering reads it; neither sees a spec.
//
// Every value that reaches an object, or that a check may complain about, knows where it comes from and what it overrode.
package plan

import (
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/jobtemplate"
	"lockstep.dev/lockstep/pkg/compile/source"
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
	// SecretStores are sorted.
	SecretStores []Value[string]
	Images       ImageRewrites
	// Ranges are the addresses of pods and Services, sorted; empty where the cluster does not say.
	Ranges []Value[string]
	// Services have names by which tenants reach them; they are in the order of the spec.
	Services []Service
	// Reserved are the names and beginnings of names of namespaces that the cluster keeps from tenants, sorted.
	Reserved []Value[string]
	// Encryption is what the network does with traffic between machines, `None` for nothing.
	Encryption Value[string]
	// Logs is the URL of a job's logs, with its names and times in braces, or "".
	Logs Value[string]
	// Docs is the address before the path of a page of docs, without a slash at its end, or "".
	Docs Value[string]
	// Monitoring and GitOps are nil where nobody does it.
	Monitoring *Monitoring
	GitOps     *GitOps
	// History is how jobs that are over are kept, as values of the controller's chart; empty without a history.
	History []Named[any]
	// Dashboard is the page about jobs, as values of its chart; empty without one.
	Dashboard []Named[any]
	// Certified are tests of runtimes, in the order of the spec.
	Certified []Certification
	Waivers   []Waiver
	// Catalog is all runtimes of the repository, sorted by name, retired ones and those of other clusters included.
	Catalog []*Runtime
	// Templates are all of the repository, sorted by name, with or without users on the cluster.
	Templates []*jobtemplate.Template
	// Today is the day on which the specs are judged, as 2026-11-21, or "" where dates do not matter.
	Today string
	// Partial says that specs were left out because of mistakes in them: what is missing here may exist.
	Partial bool
}

// Compiled returns the runtimes that are compiled for the cluster: those of its catalog, and the variants of its tenants.
func (c *Cluster) Compiled() iter.Seq[*Runtime] {
	all := slices.Clone(c.Runtimes)
	for _, t := range c.Tenants {
		for _, v := range t.Variants {
			all = append(all, v.Runtime)
		}
	}
	return slices.Values(all)
}

// PlatformNamespaces returns the namespaces of the controller and the components, sorted, each once. The compiler makes them.
func (c *Cluster) PlatformNamespaces() []Value[string] {
	names := []Value[string]{c.ControllerNamespace}
	for _, component := range c.Components {
		names = append(names, component.Namespace)
	}
	return sortedUnique(names)
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

// Tenant is a team on one cluster.
type Tenant struct {
	*TenantSpec
	// Named are the runtimes that the spec names.
	Named []NamedRuntime
	// Usable are the runtimes that the tenant can use on this cluster, sorted by name.
	Usable []*Runtime
	Quota  Quota
	// OnlyHere reports whether the tenant works on no other cluster.
	OnlyHere bool
	// Egress is in the order of the spec.
	Egress []Egress
	// Queue is nil where nothing is queued.
	Queue *Queue
	// Ineffective is what the tenant says about queues and devices without effect.
	Ineffective Ineffective
	// Bases are the catalog runtimes that the tenant's variants change, in the order of the spec.
	Bases []NamedRuntime
	// Variants are those of runtimes that are compiled for this cluster, sorted by name.
	Variants []*Variant
	// Templates are those whose runtime the tenant can use, sorted by name.
	Templates []*jobtemplate.Template
	Waivers   []Waiver
}

// TenantSpec is what the spec of a tenant says, whatever the cluster. Clusters share it.
type TenantSpec struct {
	Name Value[string]
	// DisplayName may be "".
	DisplayName Value[string]
	// Subjects per role, and Namespaces, are sorted.
	Admins, Editors, Viewers, Shell, Secrets []Value[Subject]
	Namespaces                               []Value[string]
	// External are the runtimes that the tenant may use and others installed, sorted by name. Nothing else is known of them.
	External    []Value[string]
	Limits      Limits
	Ingress     []Pods
	PodSecurity Value[string]
	// Encrypted says that the tenant refuses networks in the clear.
	Encrypted Value[bool]
	// Claims are sorted by name.
	Claims      []Claim
	PullSecrets []Value[string]
	// StoredSecrets are in the order of the spec.
	StoredSecrets []StoredSecret
	// ObjectStore is nil where there is none.
	ObjectStore *ObjectStore
	// Jobs is where the GitOps engine finds TrainJobs of the tenant, nil for nowhere.
	Jobs *JobSource
	// Receivers are told of alerts, in the order of the spec.
	Receivers []Receiver
	// KeepFinished is how long finished jobs stay, 0 forever.
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

// StoredSecret is a Secret that comes from a store.
type StoredSecret struct{ Name, Store, Key, Type Value[string] }

// JobSource is a folder of a repository. Secret may be "".
type JobSource struct {
	// Wanted is true.
	Wanted                             Value[bool]
	Repository, Secret, Revision, Path Value[string]
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

// NamedRuntime is a runtime that a tenant names.
type NamedRuntime struct {
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

// Egress is a destination: one of CIDR, Namespace and Service. A service that the cluster has gives the pods too.
type Egress struct {
	// At is the place of the item.
	At            source.Span
	CIDR, Service Value[string]
	Pods
}

// Pods are pods of a namespace, and ports; no ports means all.
type Pods struct {
	Namespace Value[string]
	// PodLabels are sorted by name; none means all pods.
	PodLabels []Named[string]
	Ports     []Port
}

// Service is a service of the cluster.
type Service struct {
	Name Value[string]
	Pods
}

// Port is a port of TCP or UDP.
type Port struct {
	Protocol Value[string]
	Port     Value[int32]
}
