package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Tenant is a team: its people, its namespaces and what it may use.
type Tenant struct {
	TypeMeta
	Metadata Metadata   `json:"metadata" jsonschema:"required"`
	Spec     TenantSpec `json:"spec" jsonschema:"required"`
}

// TenantSpec is the body of a Tenant.
type TenantSpec struct {
	// DisplayName is how people call the team.
	DisplayName string `json:"displayName,omitempty"`
	// People are groups of the identity provider.
	People People `json:"people" jsonschema:"required"`
	// Namespaces are created on every cluster of the tenant. A namespace belongs to one tenant.
	Namespaces []string `json:"namespaces" jsonschema:"required,minItems=1,uniqueItems,format=dns-label"`
	// Clusters name the clusters where the tenant works.
	Clusters []string `json:"clusters" jsonschema:"required,minItems=1,uniqueItems,format=dns-label"`
	// Runtimes name the runtimes that the tenant uses; empty means every runtime that admits the tenant.
	Runtimes []string `json:"runtimes,omitempty" jsonschema:"uniqueItems,format=dns-label"`
	// Quota is what each namespace of the tenant may hold at one time.
	Quota Quota `json:"quota" jsonschema:"required"`
	// Limits bound a single container.
	Limits Limits `json:"limits,omitempty"`
	// Network opens what is closed: without it pods reach the cluster's DNS and the pods of their own job only.
	Network TenantNetwork `json:"network,omitempty"`
	// PodSecurity is the Pod Security Standard of the namespaces. `baseline` admits root.
	PodSecurity string `json:"podSecurity,omitempty" jsonschema:"enum=restricted,enum=baseline,default=restricted"`
}

// People are names of groups per role, as the identity provider spells them. A group may be in several. Names that begin with
// `system:` are refused: they are Kubernetes' own, such as the group of everybody.
type People struct {
	// Admins may do what editors do, and exec into pods.
	Admins []string `json:"admins,omitempty" jsonschema:"uniqueItems,format=group"`
	// Editors create, change and delete TrainJobs, and read what these make.
	Editors []string `json:"editors" jsonschema:"required,minItems=1,uniqueItems,format=group"`
	// Viewers read.
	Viewers []string `json:"viewers,omitempty" jsonschema:"uniqueItems,format=group"`
}

// Quota is a ResourceQuota in the words of MPI jobs. Launchers count.
type Quota struct {
	// CPU is the sum of requests, in cores.
	CPU resource.Quantity `json:"cpu" jsonschema:"required,minimum=1m"`
	// Memory is the sum of requests and the sum of limits, in bytes.
	Memory resource.Quantity `json:"memory" jsonschema:"required,minimum=1Mi"`
	// Pods is the number of pods that have not finished.
	Pods int64 `json:"pods" jsonschema:"required,minimum=1"`
	// Jobs is the number of TrainJobs, finished ones included.
	Jobs int64 `json:"jobs" jsonschema:"required,minimum=1"`
	// Accelerators is the number of devices per extended resource, for example nvidia.com/gpu: 16. What is left
	// out is 0: the tenant gets none.
	Accelerators map[string]resource.Quantity `json:"accelerators,omitempty" jsonschema:"minimum=0,format=resource-name"`
}

// Limits bound single objects of a namespace.
type Limits struct {
	// Container is what one container may take, and takes when it says nothing.
	Container ContainerLimits `json:"container,omitempty"`
}

// ContainerLimits becomes a LimitRange.
type ContainerLimits struct {
	// Max is the most that one container may take; missing means no bound but the quota.
	Max Amounts `json:"max,omitempty"`
	// Default is what a container gets that says nothing. CPU is requested but not limited: a limit throttles ranks.
	Default DefaultAmounts `json:"default,omitempty"`
}

// Amounts is CPU and memory, each optional.
type Amounts struct {
	// CPU is in cores. Kubernetes gives a container without CPU limit this one as its limit.
	CPU *resource.Quantity `json:"cpu,omitempty" jsonschema:"minimum=1m"`
	// Memory is in bytes.
	Memory *resource.Quantity `json:"memory,omitempty" jsonschema:"minimum=1Mi"`
}

// DefaultAmounts is CPU and memory of a container that says nothing.
type DefaultAmounts struct {
	// CPU is in cores.
	CPU resource.Quantity `json:"cpu,omitempty" jsonschema:"minimum=1m,default=100m"`
	// Memory is in bytes.
	Memory resource.Quantity `json:"memory,omitempty" jsonschema:"minimum=1Mi,default=128Mi"`
}

// TenantNetwork lists the flows that are allowed besides those within a job.
type TenantNetwork struct {
	// Egress allows connections to addresses outside the cluster, for example a file server. A range with 169.254.169.254, such
	// as 0.0.0.0/0, gives a warning: there is the metadata service of clouds, which hands out the credentials of the machine.
	Egress []Egress `json:"egress,omitempty"`
	// IngressFromNamespaces admits all pods of these namespaces, for example a monitoring stack. It must not name a
	// namespace of another tenant.
	IngressFromNamespaces []string `json:"ingressFromNamespaces,omitempty" jsonschema:"uniqueItems,format=dns-label"`
}

// Egress is an address range and ports.
type Egress struct {
	// CIDR is the range, for example 10.20.0.0/16. It should not hold the metadata service, 169.254.169.254.
	CIDR string `json:"cidr" jsonschema:"required,format=cidr"`
	// Ports are the allowed ports; empty means all.
	Ports []Port `json:"ports,omitempty"`
}

// Port is a port of a protocol.
type Port struct {
	// Protocol is TCP or UDP.
	Protocol string `json:"protocol,omitempty" jsonschema:"enum=TCP,enum=UDP,default=TCP"`
	// Port is 1 to 65535.
	Port int32 `json:"port" jsonschema:"required,minimum=1,maximum=65535"`
}
