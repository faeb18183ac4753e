package decode

import (
	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Document is one decoded spec.
type Document struct {
	// Spec is a pointer to a kind of api/v1alpha1.
	Spec any
	// Sound says that decoding found no mistake. The values of an unsound document must not be judged further.
	Sound bool

	places map[any]place
}

// place is where a field comes from.
type place struct {
	key, value source.Span
}

// At returns the span of a field's value, given a pointer to the field inside Spec. A field that was not written has the
// span of the nearest key around it.
func (d *Document) At(field any) source.Span { return d.places[field].value }

// Key returns the span of a field's key, or of the list item when the field is one.
func (d *Document) Key(field any) source.Span { return d.places[field].key }

// kinds holds the constructor of each kind, in the order in which messages name them.
var kinds = []struct {
	name string
	make func() any
}{
	{v1alpha1.HardwareProfileKind, func() any { return &v1alpha1.HardwareProfile{} }},
	{v1alpha1.MPIRuntimeKind, func() any { return &v1alpha1.MPIRuntime{} }},
	{v1alpha1.TenantKind, func() any { return &v1alpha1.Tenant{} }},
	{v1alpha1.ClusterKind, func() any { return &v1alpha1.Cluster{} }},
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.name
	}
	return names
}

func decodeDocument(file *source.File, node *yaml.Node, list *diag.List) *Document {
	before := list.Len() // decoding a document makes errors only
	d := &decoder{file: file, list: list, places: map[any]place{}}
	usable := bounded(file, node, list)
	spec := d.newSpec(node)
	if spec == nil {
		return nil
	}
	if usable {
		d.document(node, spec)
	}
	return &Document{Spec: spec, Sound: list.Len() == before, places: d.places}
}

// newSpec reads apiVersion and kind, which decide what the rest of the document may be.
func (d *decoder) newSpec(node *yaml.Node) any {
	start := spanOf(d.file, node)
	if node.Kind != yaml.MappingNode {
		d.list.Errorf(diag.WrongType, start, "a document must be a mapping with apiVersion, kind, metadata and spec, not %s", describe(node))
		return nil
	}
	version, kind := lookup(node, "apiVersion"), lookup(node, "kind")
	if kind == nil {
		d.list.Errorf(diag.MissingKey, start, "the document has no `kind`").
			Helpf("add one of %s", oneOf(kindNames()))
		return nil
	}
	if kind.Kind != yaml.ScalarNode || kind.ShortTag() != "!!str" {
		d.list.Errorf(diag.WrongType, spanOf(d.file, kind), "`kind` must be a string, not %s", describe(kind)).
			Helpf("allowed are %s", oneOf(kindNames()))
		return nil
	}
	if version != nil && version.Kind == yaml.ScalarNode && version.Value != v1alpha1.APIVersion {
		d.list.Errorf(diag.UnknownAPIVersion, spanOf(d.file, version), "unknown apiVersion `%s`", version.Value).
			Helpf("write `%s`", v1alpha1.APIVersion)
	}
	for _, known := range kinds {
		if known.name == kind.Value {
			return known.make()
		}
	}
	d.list.Errorf(diag.UnknownKind, spanOf(d.file, kind), "unknown kind `%s`: allowed are %s", kind.Value, oneOf(kindNames())).
		Suggest(kind.Value, kindNames())
	return nil
}

func lookup(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return follow(node.Content[i+1])
		}
	}
	return nil
}
