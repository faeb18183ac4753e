package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
)

// Shape is how a value is written on the command line.
type Shape int

// The shapes.
const (
	// One is a word, a number or an amount.
	One Shape = iota
	// Many is a list with commas.
	Many
	// Map is name=value, repeated.
	Map
)

// Input is something that a person may decide on the command line: one flag, one place in the spec. What it means and what is allowed
// stands in the schema.
type Input struct {
	Flag string
	// Path is the place in the spec; "" where several places follow from the input, which Means describes then.
	Path  string
	Means string
	Shape Shape
	// Required inputs cannot be guessed.
	Required bool
	// Fabrics are those for which the input cannot be guessed either.
	Fabrics []v1alpha1.FabricType
	// Example is what a person may write, where the schema has none that fits.
	Example string
	// Names is the kind that the input names, or "".
	Names string
	// Default is what a spec has where nobody decides; "" leaves the key out.
	Default string

	// first and second are the keys of a list of pairs.
	first, second string
}

// Inputs returns what a kind takes from the command line, by Kind.Name.
func Inputs(kind jsonschema.Kind) []Input { return inputs[kind.Name] }

var inputs = map[string][]Input{
	v1alpha1.HardwareProfileKind: {
		{Flag: "cpu", Path: "spec.node.cpu", Required: true},
		{Flag: "memory", Path: "spec.node.memory", Required: true},
		{Flag: "fabric", Path: "spec.fabric.type", Default: string(v1alpha1.Ethernet)},
		{
			Flag: "fabric-resource", Path: "spec.fabric.resource", Fabrics: []v1alpha1.FabricType{v1alpha1.InfiniBand, v1alpha1.RoCE, v1alpha1.EFA},
			Example: "`rdma/hca_shared`, `rdma/roce` or `vpc.amazonaws.com/efa`: the resource that the device plugin of the machines offers",
		},
		{
			Flag: "gid-index", Path: "spec.fabric.gidIndex", Fabrics: []v1alpha1.FabricType{v1alpha1.RoCE},
			Example: "`3`, which is RoCE v2 over IPv4 on most machines; `show_gids` lists them",
		},
		{Flag: "interface", Path: "spec.fabric.interface"},
		{Flag: "accelerator", Path: "spec.accelerator.resource"},
		{Flag: "accelerators", Path: "spec.accelerator.count"},
		{Flag: "product", Path: "spec.accelerator.product"},
		{Flag: "shared-memory", Path: "spec.sharedMemory"},
	},
	v1alpha1.MPIRuntimeKind: {
		{Flag: "profile", Path: "spec.profile", Required: true, Names: v1alpha1.HardwareProfileKind},
		{Flag: "implementation", Path: "spec.mpi.implementation", Required: true},
		{Flag: "version", Path: "spec.mpi.version", Required: true},
		{Flag: "image", Path: "spec.image", Required: true},
		{Flag: "description", Path: "spec.description"},
		{Flag: "framework", Path: "spec.framework"},
		{Flag: "nodes", Path: "spec.nodes.default"},
		{Flag: "min-nodes", Path: "spec.nodes.min"},
		{Flag: "max-nodes", Path: "spec.nodes.max"},
		{Flag: "slots", Path: "spec.slotsPerNode"},
		{Flag: "cpu", Path: "spec.resourcesPerNode.cpu"},
		{Flag: "memory", Path: "spec.resourcesPerNode.memory"},
		{Flag: "tenants", Path: "spec.tenants", Shape: Many, Names: v1alpha1.TenantKind},
	},
	v1alpha1.TenantKind: {
		{Flag: "clusters", Path: "spec.clusters", Shape: Many, Required: true, Names: v1alpha1.ClusterKind},
		{Flag: "editors", Path: "spec.people.editors", Shape: Many, Required: true},
		{Flag: "admins", Path: "spec.people.admins", Shape: Many},
		{Flag: "viewers", Path: "spec.people.viewers", Shape: Many},
		{Flag: "display-name", Path: "spec.displayName"},
		{Flag: "namespaces", Path: "spec.namespaces", Shape: Many},
		{Flag: "runtimes", Path: "spec.runtimes", Shape: Many, Names: v1alpha1.MPIRuntimeKind},
		{Flag: "cpu", Path: "spec.quota.cpu"},
		{Flag: "memory", Path: "spec.quota.memory"},
		{Flag: "pods", Path: "spec.quota.pods"},
		{Flag: "jobs", Path: "spec.quota.jobs"},
		{Flag: "accelerators", Path: "spec.quota.accelerators", Shape: Map},
	},
	v1alpha1.ClusterKind: {
		{Flag: "platform", Path: "spec.platform", Required: true},
		{Flag: "version", Path: "spec.version", Required: true},
		{Flag: "agent-image", Path: "spec.agent.image", Required: true},
		{Flag: "controller-image", Means: "Image of mpi-controller, which runs the jobs; beside the agent's unless it is given"},
		{Flag: "executor", Path: "spec.executor"},
		{Flag: "capacity", Path: "spec.capacity", Shape: Map, Names: v1alpha1.HardwareProfileKind, first: "profile", second: "nodes"},
	},
}

// IsMissing reports whether a spec with what was written is no good without the input.
func (i Input) IsMissing(written Written) bool {
	return i.Required || slices.Contains(i.Fabrics, v1alpha1.FabricType(strings.Join(written["fabric"], "")))
}

// Value returns the part of a spec that was written on the command line: one text, several for Many, or name=value for Map.
func (i Input) Value(kind jsonschema.Kind, written []string) (Value, error) {
	switch i.Shape {
	case Many:
		return ListValue(written), nil
	case Map:
		pairs := map[string]string{}
		for _, text := range written {
			name, value, found := strings.Cut(text, "=")
			if !found || name == "" || value == "" {
				return Value{}, fmt.Errorf("`%s` in --%s is not a name and a number: write for example `%s=2`", text, i.Flag, i.exampleName())
			}
			pairs[name] = value
		}
		if i.first != "" {
			return PairsValue(i.first, i.second, pairs), nil
		}
		return AmountsValue(pairs), nil
	}
	if i.isText(kind) {
		return TextValue(strings.Join(written, ",")), nil
	}
	return BareValue(strings.Join(written, ",")), nil
}

func (i Input) exampleName() string {
	if i.first != "" {
		return "some-profile"
	}
	return "nvidia.com/gpu"
}

// Schema returns what the schema of the kind says about the input.
func (i Input) Schema(kind jsonschema.Kind) *jsonschema.Schema {
	root := kind.Schema()
	s := root
	if i.Path == "" {
		return &jsonschema.Schema{Type: []string{"string"}, Description: i.Means}
	}
	for step := range strings.SplitSeq(i.Path, ".") {
		s = s.Properties.Get(step).Resolve(root)
	}
	return s
}

func (i Input) isText(kind jsonschema.Kind) bool {
	s := i.Schema(kind)
	return len(s.Type) == 1 && s.Type[0] == "string"
}

// Allowed returns the values that the input may have: those that the schema lists, else the names of what it refers to; nil where it is
// free.
func (i Input) Allowed(kind jsonschema.Kind, known *Existing) []string {
	var allowed []string
	for _, value := range i.Schema(kind).Enum {
		allowed = append(allowed, fmt.Sprint(value))
	}
	if i.Names != "" {
		return known.Names(i.Names)
	}
	return allowed
}
