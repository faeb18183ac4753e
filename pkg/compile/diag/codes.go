package diag

// Code identifies a kind of mistake for good: a code is never renumbered or reused. Two mistakes have one code if one
// function could report both. LS1 is files and YAML, LS2 one document, LS3 names, LS4 rules, LS5 components, LS6 output.
//
// A code is complete with three things, and a test of package compile misses each: its constant here, its Entry in
// entries.go, and its example in testdata/errors/codes, from which docs/diagnostics is generated.
type Code string

// Files and YAML.
const (
	// UnreadableFile is a spec file that cannot be read, is no regular file, is a link to a place outside the repository, is
	// larger than 1 MiB, or is not UTF-8.
	UnreadableFile Code = "LS1001"

	// Syntax is text that is not YAML. The documents before it in the file are still compiled.
	Syntax Code = "LS1002"

	// TooComplex is a file beyond the limits that keep a malicious spec from being an outage: nesting depth 64, 1,000
	// documents per file, 10,000 values reached through aliases.
	TooComplex Code = "LS1003"

	// UnsupportedYAML is a part of YAML that specs do not use: merge keys, tags of one's own, keys that are not strings.
	UnsupportedYAML Code = "LS1004"

	// NothingRead is a file in a folder of specs that defines nothing: it is empty, or its name is nearly that of a spec file.
	// It is a warning, because a tenant that disappears from the specs is removed from its clusters.
	NothingRead Code = "LS1005"
)

// One document.
const (
	// UnknownKind is a kind that is not a spec.
	UnknownKind Code = "LS2001"

	// UnknownAPIVersion is an apiVersion that this compiler does not read.
	UnknownAPIVersion Code = "LS2002"

	// UnknownKey is a key that the kind does not have.
	UnknownKey Code = "LS2003"

	// DuplicateKey is a key that is there twice. YAML parsers keep either; neither is safe.
	DuplicateKey Code = "LS2004"

	// MissingKey is a required key that is not there, or has no value.
	MissingKey Code = "LS2005"

	// WrongType is a value of another type than the key has. Versions are strings: 1.30 without quotes is the number 1.3.
	WrongType Code = "LS2006"

	// NotAllowed is a value that is not among those allowed.
	NotAllowed Code = "LS2007"

	// OutOfRange is a number, an amount or a list that is too small or too large.
	OutOfRange Code = "LS2008"

	// BadFormat is a string that does not have the form that its key needs.
	BadFormat Code = "LS2009"

	// RepeatedItem is a value that is in a list twice.
	RepeatedItem Code = "LS2010"
)

// Names.
const (
	// DuplicateName is two specs of one kind with one name.
	DuplicateName Code = "LS3001"

	// DanglingReference is a name that no spec has.
	DanglingReference Code = "LS3002"

	// NamespaceTaken is a namespace that two tenants claim, or a tenant and the platform.
	NamespaceTaken Code = "LS3003"

	// NoCluster is a repository without a cluster: nothing can be compiled.
	NoCluster Code = "LS3004"

	// UnknownCluster is a cluster, asked for on the command line, that no spec defines.
	UnknownCluster Code = "LS3005"
)

// Rules.
const (
	// NodesOutOfOrder is a number of nodes for which min <= default <= max does not hold.
	NodesOutOfOrder Code = "LS4001"

	// SlotsWithoutAccelerator is slotsPerNode `auto` with a profile that has no accelerator.
	SlotsWithoutAccelerator Code = "LS4002"

	// NodeDoesNotFit is a node or a launcher that takes more than a machine of the profile offers: its pod would wait for ever.
	NodeDoesNotFit Code = "LS4003"

	// QuotaTooSmall is a quota that is too small for one smallest job of a runtime that the tenant uses.
	QuotaTooSmall Code = "LS4004"

	// ReservedName is a namespace that Kubernetes, OpenShift or the platform keeps for itself.
	ReservedName Code = "LS4005"

	// ReservedVariable is an environment variable that carries the wiring of a job.
	ReservedVariable Code = "LS4006"

	// NoUsableRuntime is a tenant that cannot use any runtime on one of its clusters.
	NoUsableRuntime Code = "LS4007"

	// RuntimeNotUsable is a runtime that a tenant names, but that does not admit it, is retired, or is not on the cluster.
	RuntimeNotUsable Code = "LS4008"

	// ImageWithoutDigest is an image without digest on a cluster that demands digests.
	ImageWithoutDigest Code = "LS4009"

	// LimitsTooTight is container limits that refuse the pods of a runtime that the tenant uses.
	LimitsTooTight Code = "LS4010"

	// LimitsOutOfOrder is container limits with a default above the maximum; the API server would refuse them.
	LimitsOutOfOrder Code = "LS4011"

	// FabricNotSupported is a fabric that is not compiled yet.
	FabricNotSupported Code = "LS4012"

	// PodUser is a pod user that cannot work: on OpenShift, which assigns users itself, or one who cannot read the job's key.
	PodUser Code = "LS4013"

	// MPIVersion is a version of an MPI implementation that is not supported.
	MPIVersion Code = "LS4014"

	// ExecutorNotSupported is an executor that is not compiled yet.
	ExecutorNotSupported Code = "LS4015"

	// ImageVolumesTooEarly is image volumes on a cluster version that does not have them.
	ImageVolumesTooEarly Code = "LS4016"

	// DeprecatedRuntime is a deprecated runtime that a tenant still names. It is a warning.
	DeprecatedRuntime Code = "LS4017"

	// ForeignIngress is ingress from a namespace of another tenant.
	ForeignIngress Code = "LS4018"

	// ReleaseTaken is two components of a cluster with one release name: they would share an output file.
	ReleaseTaken Code = "LS4019"

	// MetadataReachable is egress to a range with the metadata service of clouds, which hands out the credentials of the machine.
	// It is a warning.
	MetadataReachable Code = "LS4020"
)

// Components and objects.
const (
	// ChartNotFound is a chart folder that is not in the repository.
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
