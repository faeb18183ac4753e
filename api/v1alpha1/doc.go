// Package v1alpha1 holds the spec kinds of Lockstep: YAML files in git, not custom resources, and no API server serves them. Platform admins
// commit one document for each; their API group is lockstep.dev.
//
// A spec says only what a human must decide. The compiler (pkg/compile) derives the rest.
//
// The rules of a field stand in its `jsonschema` tag, in the vocabulary of JSON Schema, and the decoder enforces them:
//
//	required            the key must be there
//	default=V           the value when the key is missing
//	enum=V              an allowed value; repeated
//	minimum=N           the least allowed number or quantity
//	maximum=N           the greatest allowed number
//	minItems=N          the least length of a list or a map
//	uniqueItems         no value twice in a list of strings
//	shorthand           a text in place of the mapping is the value of this key
//	format=F            cidr, code, date, device, dns-label, dns-name, duration, email, env-name, git-url, group, image,
//	                    image-prefix, interface-name, kubernetes-version, label-name, label-value, logs-url, mount-path, minor-version, mpi-version,
//	                    https-url, namespace-pattern, network, path, resource-name, secret-key, service-account, sha256,
//	                    user
//
// The package has types and no behaviour.
package v1alpha1

// APIVersion is the apiVersion of every spec.
const APIVersion = "lockstep.dev/v1alpha1"

// The kinds.
const (
	HardwareProfileKind = "HardwareProfile"
	MPIRuntimeKind      = "MPIRuntime"
	TenantKind          = "Tenant"
	ClusterKind         = "Cluster"
)

// TypeMeta says what a document is.
type TypeMeta struct {
	// APIVersion is always lockstep.dev/v1alpha1.
	APIVersion string `json:"apiVersion" jsonschema:"required"`
	// Kind is HardwareProfile, MPIRuntime, Tenant or Cluster.
	Kind string `json:"kind" jsonschema:"required"`
}

// Metadata names a spec.
type Metadata struct {
	// Name is unique among the specs of its kind. It is a DNS label: at most 63 of a-z, 0-9 and `-`.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
}

// Waiver accepts one finding of the compiler for a while. A waived finding is still shown, and an expired waiver is a finding
// itself, so that exceptions stay visible and end.
type Waiver struct {
	// Code of the diagnostic, for example LS4009. Mistakes that would make the output wrong cannot be waived, and what one
	// tenant would accept at the expense of others only by a Cluster.
	Code string `json:"code" jsonschema:"required,format=code"`
	// About narrows the waiver to findings whose message names this word, for example a runtime; missing means every finding
	// with the code at this spec.
	About string `json:"about,omitempty"`
	// Reason is one sentence for the reviewer.
	Reason string `json:"reason" jsonschema:"required"`
	// Expires is the last day on which the waiver holds, as 2027-03-31; at most 366 days away for what only a Cluster may accept.
	Expires string `json:"expires" jsonschema:"required,format=date"`
}

// Variable is one environment variable.
type Variable struct {
	// Name may hold letters, digits, `_`, `-` and `.`. The names that carry the wiring of a job are reserved.
	Name string `json:"name" jsonschema:"required,format=env-name"`
	// Value may be empty.
	Value string `json:"value"`
	// Reason is one sentence that says why the variable is there.
	Reason string `json:"reason,omitempty"`
}
