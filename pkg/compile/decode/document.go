package decode

import (
	"reflect"
	"slices"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Document is one decoded spec. It is immutable; Spec must not be changed.
type Document struct {
	// Spec is a pointer to a kind of api/v1alpha1, or to Unknown.
	Spec any
	// File is where it is.
	File *source.File
	// Valid says that decoding found no mistake. The values of an unsound document must not be judged further.
	Valid bool
	// Unread says that nothing is known of the spec but its name, and that its kind may be Unknown: the file is not YAML, or the kind no kind.
	Unread bool

	places  map[any]fieldSpans
	entries []entryPlace
	// changes are the origins of what a patch wrote; see PatchedDocument.
	changes []*origin.Origin
}

// kinds holds the constructor of each kind, in the order in which messages name them, and where its specs are. Who may change a folder
// is decided folder by folder (CODEOWNERS): a team that may write in tenants/ must not make clusters, machines or runtimes.
var kinds = []struct {
	name string
	make func() any
	// folder holds the specs of the kind, place is where they are by convention.
	folder, place string
}{
	{v1alpha1.HardwareProfileKind, func() any { return &v1alpha1.HardwareProfile{} }, "catalog/", "catalog/profiles/"},
	{v1alpha1.MPIRuntimeKind, func() any { return &v1alpha1.MPIRuntime{} }, "catalog/", "catalog/runtimes/"},
	{v1alpha1.TenantKind, func() any { return &v1alpha1.Tenant{} }, "tenants/", "tenants/"},
	{v1alpha1.ClusterKind, func() any { return &v1alpha1.Cluster{} }, "overlays/", "overlays/<name>/cluster.yaml"},
}

// folders are those in which specs are looked for.
var folders = []string{"catalog/", "tenants/", "overlays/"}

// TypeOf returns the Go type of a kind, or nil if there is no such kind.
func TypeOf(kind string) reflect.Type {
	for _, known := range kinds {
		if known.name == kind {
			return reflect.TypeOf(known.make()).Elem()
		}
	}
	return nil
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.name
	}
	return names
}

// decodeDocument decodes one tree, or returns nil if it is of no kind.
func (d *decoder) decodeDocument(node *syntax.Node) *Document {
	before := d.list.Len() // decoding a document makes errors only
	d.places, d.entries = d.places[:0], nil
	d.twice = nil
	usable := withinLimits(d.file, node, d.list)
	spec := d.newSpec(node)
	if spec == nil {
		return d.ofUnknownKind(node)
	}
	if usable {
		d.reportSecondDocument(node)
		d.decodeSpec(node, spec)
	}
	return &Document{Spec: spec, File: d.file, Valid: d.list.Len() == before, places: indexFields(d.places), entries: d.entries}
}

// newSpec reads apiVersion and kind, which decide what the rest of the document may be.
func (d *decoder) newSpec(node *syntax.Node) any {
	if node.Kind != syntax.Mapping {
		d.errorf(diag.WrongType, node.At, "a document must be a mapping with apiVersion, kind, metadata and spec, not %s", describeNode(node))
		return nil
	}
	version, kind := node.Get("apiVersion"), node.Get("kind")
	if kind == nil {
		d.errorf(diag.MissingKey, node.At, "the document has no `kind`").
			Helpf("add one of %s", quotedNames(kindNames()))
		return nil
	}
	if kind.Kind != syntax.Scalar || kind.Tag != syntax.String {
		d.errorf(diag.WrongType, kind.At, "`kind` must be a string, not %s", describeNode(kind)).
			Helpf("allowed are %s", quotedNames(kindNames()))
		return nil
	}
	if version != nil && version.Kind == syntax.Scalar && version.Value != v1alpha1.APIVersion {
		d.errorf(diag.UnknownAPIVersion, version.At, "unknown apiVersion `%s`", version.Value).
			Helpf("write `%s`", v1alpha1.APIVersion)
	}
	for _, known := range kinds {
		if known.name == kind.Value {
			d.reportWrongFolder(kind, known.folder, known.place)
			return known.make()
		}
	}
	d.errorf(diag.UnknownKind, kind.At, "unknown kind `%s`: allowed are %s", kind.Value, quotedNames(kindNames())).
		Suggest(kind.Value, kindNames())
	return nil
}

// reportWrongFolder reports a kind in the folder of another. The document is read on, so that its other mistakes are told as well, and names
// that lead to it are found; nothing is compiled from it.
func (d *decoder) reportWrongFolder(kind *syntax.Node, folder, place string) {
	top, _, below := strings.Cut(d.file.Path, "/")
	if top += "/"; !below || top == folder || !slices.Contains(folders, top) {
		return
	}
	d.errorf(diag.KindElsewhere, kind.At, "`%s` does not belong into `%s`", kind.Value, top).
		Notef("whoever may change that folder decides about the kind of specs that it is for, and about no other").
		Helpf("move it to `%s`", place)
}
