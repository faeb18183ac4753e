package decode

import (
	"errors"
	"reflect"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode/lines"
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Unknown is a spec whose kind cannot be read. Without a name it may stand for any number of specs.
type Unknown struct {
	Metadata v1alpha1.Metadata
}

// specsOfUnreadable adds the specs that a file would define if it could be read, as far as its lines show them. They are unsound and empty, but
// their names are known, so that nobody is told that what he refers to does not exist. A file that is not read because of its name
// defines nothing, and is not an error.
func specsOfUnreadable(file *source.File, b *fileResult) {
	if errors.Is(file.Err, source.ErrIgnored) {
		return
	}
	if file.Err != nil || file.Language() == source.Jsonnet {
		b.documents = append(b.documents, namelessSpecs(file))
		return
	}
	known := map[[2]string]bool{}
	for _, d := range b.documents {
		known[kindAndName(d)] = true
	}
	for _, spec := range lines.Specs(strings.ToValidUTF8(file.Text(), "?")) {
		d := unreadSpec(file, spec.Kind, spec.Name, syntax.Place{Line: int32(spec.Place.Line), Column: int32(spec.Place.Column), Length: int32(spec.Place.Length)})
		if !known[kindAndName(d)] {
			b.documents = append(b.documents, d)
		}
	}
}

// namelessSpecs stands for the specs of a file of which nothing is known.
func namelessSpecs(file *source.File) *Document {
	return &Document{Spec: &Unknown{}, File: file, Unread: true}
}

// unreadSpec returns a spec of which only the kind, more or less, and the name are known.
func unreadSpec(file *source.File, kind, name string, at syntax.Place) *Document {
	var spec any = &Unknown{}
	if nearest, found := diag.Nearest(kind, kindNames()); found {
		for _, known := range kinds {
			if known.name == nearest {
				spec = known.make()
			}
		}
	}
	field := reflect.ValueOf(spec).Elem().FieldByName("Metadata").FieldByName("Name")
	field.SetString(name)
	d := decoder{file: file}
	if at.Line > 0 {
		d.rememberPlace(decodeTarget{value: field, key: at}, at)
	}
	return &Document{Spec: spec, File: file, Unread: true, places: indexFields(d.places)}
}

// kindAndName is what specs are told apart by: kind and name.
func kindAndName(d *Document) [2]string {
	spec := reflect.ValueOf(d.Spec).Elem()
	return [2]string{spec.Type().Name(), spec.FieldByName("Metadata").FieldByName("Name").String()}
}

// ofUnknownKind returns a document of no kind under its name, for those who refer to it; nil if it has none.
func (d *decoder) ofUnknownKind(node *syntax.Node) *Document {
	if node.Kind != syntax.Mapping {
		return nil
	}
	kind, name, at := "", "", syntax.Place{}
	if k := node.Get("kind"); k != nil && k.Kind == syntax.Scalar {
		kind = k.Value
	}
	if m := node.Get("metadata"); m != nil && m.Follow().Kind == syntax.Mapping {
		if n := m.Follow().Get("name"); n != nil && n.Kind == syntax.Scalar {
			name, at = n.Value, n.At
		}
	}
	if name == "" {
		return nil
	}
	return unreadSpec(d.file, kind, name, at)
}
