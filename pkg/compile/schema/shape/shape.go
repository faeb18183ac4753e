// Package shape is the reduced form of the schemas that API servers apply: what package schema reads from its archive and
// the generator beside it writes there.
//
// A Table holds the schema of one kind as a list of Shapes that name one another by index. Equal shapes are one shape, so that
// the many copies of a container or a selector in a CRD cost once, and a recursive schema is a table like any other. What
// only describes (titles, examples, patch strategies) is gone.
package shape

// Table is the schema of one kind.
type Table struct {
	// Native is true for the kinds that the API server itself has: it decodes them into Go types, which treat null as absent and
	// do not fill in defaults before they look for required fields. The others are custom resources.
	Native bool `json:"native,omitempty"`
	// Namespaced reports whether objects of the kind live in a namespace.
	Namespaced bool `json:"namespaced,omitempty"`
	// Root is the shape of the object.
	Root int `json:"root"`
	// Shapes are all shapes of the kind.
	Shapes []Shape `json:"shapes"`
}

// Formats that are ours: native types that the API server checks with code of its own.
const (
	Quantity      = "quantity"
	LabelSelector = "label-selector"
	PodSpec       = "pod-spec"
)

// Shape is what a value must look like. References to other shapes are indices into Table.Shapes.
type Shape struct {
	// Type is object, array, string, integer, number or boolean; empty means any.
	Type string `json:"t,omitempty"`
	// Format is int32, int64, date-time, byte, double, or one of ours.
	Format string `json:"f,omitempty"`
	// IntOrString allows a whole number or a string.
	IntOrString bool `json:"ios,omitempty"`
	Nullable    bool `json:"null,omitempty"`

	Properties map[string]int `json:"p,omitempty"`
	// Open allows fields that Properties lacks, with any value.
	Open bool `json:"open,omitempty"`
	// Embedded says that the value is an object of Kubernetes itself: it needs apiVersion and kind.
	Embedded bool `json:"emb,omitempty"`
	// Values is the shape of a map's values.
	Values   *int     `json:"v,omitempty"`
	Required []string `json:"req,omitempty"`

	Items *int `json:"i,omitempty"`
	// Unique lists have different items; in a list with Keys the items differ in the values of these keys.
	Unique bool     `json:"uniq,omitempty"`
	Keys   []string `json:"keys,omitempty"`

	// Default is what the API server puts where the value is missing.
	Default any `json:"d,omitempty"`
	// Enum are the values allowed, each as text: a string as it is, anything else as JSON.
	Enum    []string `json:"e,omitempty"`
	Pattern string   `json:"pat,omitempty"`

	Minimum          *float64 `json:"min,omitempty"`
	Maximum          *float64 `json:"max,omitempty"`
	ExclusiveMinimum bool     `json:"xmin,omitempty"`
	ExclusiveMaximum bool     `json:"xmax,omitempty"`
	MinLength        *int     `json:"minl,omitempty"`
	MaxLength        *int     `json:"maxl,omitempty"`
	MinItems         *int     `json:"mini,omitempty"`
	MaxItems         *int     `json:"maxi,omitempty"`
	MinProperties    *int     `json:"minp,omitempty"`
	MaxProperties    *int     `json:"maxp,omitempty"`

	AllOf []int `json:"all,omitempty"`
	AnyOf []int `json:"any,omitempty"`
	OneOf []int `json:"one,omitempty"`
	Not   *int  `json:"not,omitempty"`

	Rules []Rule `json:"r,omitempty"`
}

// Rule is a CEL rule that a value must satisfy, from x-kubernetes-validations. Rules about the change of a value are left out: they do
// not hold for an object that is created.
type Rule struct {
	Rule    string `json:"r"`
	Message string `json:"m,omitempty"`
}
