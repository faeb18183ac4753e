package diag

// Code identifies a kind of mistake for good: a code is never renumbered or reused. Two mistakes have one code if one
// function could report both. LS1 is files and YAML, LS2 one document, LS3 names, LS4 rules, LS5 components, LS6 output.
//
// Each constant's comment holds an example where specs alone can show the mistake. A test compiles the example beside
// small valid specs (it replaces those of its kinds) and expects the code.
type Code string

// Files and YAML.
const (
	// UnreadableFile is a spec file that cannot be read, is no regular file, is a link to a place outside the repository, is
	// larger than 1 MiB, or is not UTF-8.
	UnreadableFile Code = "LS1001"

	// Syntax is text that is not YAML. The documents before it in the file are still compiled.
	//
	// Example:
	//
	//	kind: [Tenant
	Syntax Code = "LS1002"

	// TooComplex is a file beyond the limits that keep a malicious spec from being an outage: nesting depth 64, 1,000
	// documents per file, 10,000 values reached through aliases.
	//
	// Example:
	//
	//	kind: Tenant
	//	spec: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
	TooComplex Code = "LS1003"

	// UnsupportedYAML is a part of YAML that specs do not use: merge keys, tags of one's own, keys that are not strings.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: HardwareProfile
	//	metadata: {name: cpu}
	//	spec: {fabric: {type: Ethernet}, node: {cpu: 2, memory: 4Gi}, <<: {sharedMemory: 1Gi}}
	UnsupportedYAML Code = "LS1004"

	// NothingRead is a file in a folder of specs that defines nothing: it is empty, or its name is nearly that of a spec file.
	// It is a warning, because a tenant that disappears from the specs is removed from its clusters.
	NothingRead Code = "LS1005"
)

// One document.
const (
	// UnknownKind is a kind that is not a spec.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tennant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	UnknownKind Code = "LS2001"

	// UnknownAPIVersion is an apiVersion that this compiler does not read.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	UnknownAPIVersion Code = "LS2002"

	// UnknownKey is a key that the kind does not have.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, qouta: 1}
	UnknownKey Code = "LS2003"

	// DuplicateKey is a key that is there twice. YAML parsers keep either; neither is safe.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, displayName: a, displayName: b}
	DuplicateKey Code = "LS2004"

	// MissingKey is a required key that is not there, or has no value.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	MissingKey Code = "LS2005"

	// WrongType is a value of another type than the key has. Versions are strings: 1.30 without quotes is the number 1.3.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: Kubernetes, version: 1.30, agent: {image: example.org/agent:1}}
	WrongType Code = "LS2006"

	// NotAllowed is a value that is not among those allowed.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: k8s, version: "1.36", agent: {image: example.org/agent:1}}
	NotAllowed Code = "LS2007"

	// OutOfRange is a number, an amount or a list that is too small or too large.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 0, jobs: 20}}
	OutOfRange Code = "LS2008"

	// BadFormat is a string that does not have the form that its key needs.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [Vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	BadFormat Code = "LS2009"

	// RepeatedItem is a value that is in a list twice.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision, vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	RepeatedItem Code = "LS2010"
)

// Names.
const (
	// DuplicateName is two specs of one kind with one name.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	//	---
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [other], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	DuplicateName Code = "LS3001"

	// DanglingReference is a name that no spec has.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: gpu}
	DanglingReference Code = "LS3002"

	// NamespaceTaken is a namespace that two tenants claim, or a tenant and the platform.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	//	---
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: nlp}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	NamespaceTaken Code = "LS3003"

	// NoCluster is a repository without a cluster: nothing can be compiled.
	NoCluster Code = "LS3004"

	// UnknownCluster is a cluster, asked for on the command line, that no spec defines.
	UnknownCluster Code = "LS3005"
)

// Rules.
const (
	// NodesOutOfOrder is a number of nodes for which min <= default <= max does not hold.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: cpu, nodes: {min: 3, max: 2}}
	NodesOutOfOrder Code = "LS4001"

	// SlotsWithoutAccelerator is slotsPerNode `auto` with a profile that has no accelerator.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: cpu, slotsPerNode: auto}
	SlotsWithoutAccelerator Code = "LS4002"

	// NodeDoesNotFit is a node or a launcher that takes more than a machine of the profile offers: its pod would wait for ever.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: cpu, resourcesPerNode: {cpu: 3}}
	NodeDoesNotFit Code = "LS4003"

	// QuotaTooSmall is a quota that is too small for one smallest job of a runtime that the tenant uses.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 1, memory: 16Gi, pods: 40, jobs: 20}}
	QuotaTooSmall Code = "LS4004"

	// ReservedName is a namespace that Kubernetes, OpenShift or the platform keeps for itself.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [kube-public], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	ReservedName Code = "LS4005"

	// ReservedVariable is an environment variable that carries the wiring of a job.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: cpu, env: [{name: PRTE_MCA_plm_ssh_agent, value: ssh}]}
	ReservedVariable Code = "LS4006"

	// NoUsableRuntime is a tenant that cannot use any runtime on one of its clusters.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: cpu, tenants: [nobody]}
	//	---
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: nobody}
	//	spec: {people: {editors: [eds]}, namespaces: [nobody], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	//	---
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	NoUsableRuntime Code = "LS4007"

	// RuntimeNotUsable is a runtime that a tenant names, but that does not admit it, is retired, or is not on the cluster.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: cpu, lifecycle: Retired}
	//	---
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, runtimes: [mpi]}
	RuntimeNotUsable Code = "LS4008"

	// ImageWithoutDigest is an image without digest on a cluster that demands digests.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: Kubernetes, version: "1.36", agent: {image: example.org/agent:1}, requireDigests: true}
	ImageWithoutDigest Code = "LS4009"

	// LimitsTooTight is container limits that refuse the pods of a runtime that the tenant uses.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, limits: {container: {max: {memory: 1Gi}}}}
	LimitsTooTight Code = "LS4010"

	// LimitsOutOfOrder is container limits with a default above the maximum; the API server would refuse them.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, limits: {container: {max: {cpu: 8, memory: 8Gi}, default: {memory: 9Gi}}}}
	LimitsOutOfOrder Code = "LS4011"

	// FabricNotSupported is a fabric that is not compiled yet.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: HardwareProfile
	//	metadata: {name: cpu}
	//	spec: {fabric: {type: InfiniBand}, node: {cpu: 2, memory: 4Gi}}
	FabricNotSupported Code = "LS4012"

	// PodUser is a pod user that cannot work: on OpenShift, which assigns users itself, or one who cannot read the job's key.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: Kubernetes, version: "1.36", agent: {image: example.org/agent:1}, podUser: {uid: 1000, gid: 1000, fsGroup: 0}}
	PodUser Code = "LS4013"

	// MPIVersion is a version of an MPI implementation that is not supported.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 3.1.6}, image: example.org/mpi:5, profile: cpu}
	MPIVersion Code = "LS4014"

	// ExecutorNotSupported is an executor that is not compiled yet.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: Kubernetes, version: "1.36", agent: {image: example.org/agent:1}, executor: KubeflowTrainer}
	ExecutorNotSupported Code = "LS4015"

	// ImageVolumesTooEarly is image volumes on a cluster version that does not have them.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: Kubernetes, version: "1.30", agent: {image: a, imageVolumes: true}}
	ImageVolumesTooEarly Code = "LS4016"

	// DeprecatedRuntime is a deprecated runtime that a tenant still names. It is a warning.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: MPIRuntime
	//	metadata: {name: mpi}
	//	spec: {mpi: {implementation: OpenMPI, version: 5.0.7}, image: example.org/mpi:5, profile: cpu, lifecycle: Deprecated}
	//	---
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, runtimes: [mpi]}
	DeprecatedRuntime Code = "LS4017"

	// ForeignIngress is ingress from a namespace of another tenant.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, network: {ingressFromNamespaces: [nlp]}}
	//	---
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: nlp}
	//	spec: {people: {editors: [eds]}, namespaces: [nlp], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
	ForeignIngress Code = "LS4018"

	// ReleaseTaken is two components of a cluster with one release name: they would share an output file.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: Kubernetes, version: "1.36", agent: {image: example.org/agent:1}, components: [{chart: charts/a, release: x}, {chart: charts/b, release: x}]}
	ReleaseTaken Code = "LS4019"

	// MetadataReachable is egress to a range with the metadata service of clouds, which hands out the credentials of the machine.
	// It is a warning.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Tenant
	//	metadata: {name: vision}
	//	spec: {people: {editors: [eds]}, namespaces: [vision], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}, network: {egress: [{cidr: 0.0.0.0/0}]}}
	MetadataReachable Code = "LS4020"
)

// Components and objects.
const (
	// ChartNotFound is a chart folder that is not in the repository.
	//
	// Example:
	//
	//	apiVersion: lockstep.dev/v1alpha1
	//	kind: Cluster
	//	metadata: {name: local}
	//	spec: {platform: Kubernetes, version: "1.36", agent: {image: example.org/agent:1}, components: [{chart: charts/none}]}
	ChartNotFound Code = "LS5001"

	// ChartFails is a chart that cannot be loaded or rendered.
	ChartFails Code = "LS5002"

	// ChartOutput is a rendered document that is not a Kubernetes object.
	ChartOutput Code = "LS5003"

	// ChartHook is a Helm hook. Nothing runs hooks where manifests are synced, so it is left out. It is a warning.
	ChartHook Code = "LS5004"

	// ObjectCollision is two objects with one identity.
	ObjectCollision Code = "LS5005"

	// RenderFails is an object that cannot be built. Checks should have found the reason: please report it.
	RenderFails Code = "LS5006"

	// ChartNotReproducible is a chart that calls a function whose result changes from run to run or from machine to machine, or
	// that was rendered several times with different results: the output would differ although no input did.
	ChartNotReproducible Code = "LS5007"
)

// Output.
const (
	// ForeignFile is a file in the output folder that the compiler did not write, at a path that it needs.
	ForeignFile Code = "LS6001"
)
