package decode

import (
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// PatchedDocument decodes a spec again after a patch changed its tree. What the patch wrote has a place whose Path is -n, where n is the
// number of its origin in changes, from 1; everything else has the place that it has in the file. It is as strict as for a file.
func PatchedDocument(file *source.File, root *syntax.Node, changes []*origin.Origin, list *diag.List) *Document {
	d := decoder{file: file, list: list, changes: changes}
	document := d.decodeDocument(root)
	if document != nil {
		document.changes = changes
	}
	return document
}

// patchOrigin returns the origin of what a patch wrote, or nil.
func patchOrigin(changes []*origin.Origin, at syntax.Place) *origin.Origin {
	if at.Path >= 0 || int(-at.Path) > len(changes) {
		return nil
	}
	return changes[-at.Path-1]
}

// Origin returns where the value of a field comes from: its place, or the patch that wrote it with what that overrode.
func (d *Document) Origin(field any) origin.Origin {
	if len(d.changes) > 0 {
		if p, exact := d.findPlace(field); exact {
			if from := patchOrigin(d.changes, p.value); from != nil {
				return *from
			}
		}
	}
	return origin.Origin{At: d.At(field)}
}

// EntryOrigin returns where the value of an entry of a map comes from, as Origin does for a field.
func (d *Document) EntryOrigin(field any, name string) origin.Origin {
	for _, e := range d.entries {
		if e.field == field && e.name == name {
			if from := patchOrigin(d.changes, e.value); from != nil {
				return *from
			}
			return origin.Origin{At: d.span(e.value)}
		}
	}
	return origin.Origin{}
}
