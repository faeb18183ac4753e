package overlay

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// PatchesSpecs reports whether specs are different for this cluster.
func (o *Overlay) PatchesSpecs() bool { return o != nil && len(o.specs) > 0 }

// Specs returns the specs as they are for this cluster: those that a patch is for are decoded again from what it makes of them. A
// spec with a mistake stays as it is.
func (o *Overlay) Specs(documents []*decode.Document, list *diag.List) []*decode.Document {
	effects := make(Effects, len(o.specs))
	readable := list.Errors() == 0
	result := make([]*decode.Document, len(documents))
	var last lastFile
	existing := make([]object.ID, len(documents))
	for i, document := range documents {
		existing[i] = idOf(document)
		result[i] = o.patchSpec(document, &last, effects, list)
	}
	for i := range o.specs {
		// What cannot be read may be what the patch is for.
		effects[i].Matched = effects[i].Matched || !readable
		effects[i].Changed = effects[i].Changed || !readable
		o.specs[i].reportIneffective(effects[i], slices.Values(existing), "spec of the repository",
			"compare it with the files in catalog/, tenants/ and overlays/, or remove it", list)
	}
	effects.reportReplaced(o.specs, list)
	return result
}

func (o *Overlay) patchSpec(document *decode.Document, last *lastFile, effects Effects, list *diag.List) *decode.Document {
	spec := object.Object{ID: idOf(document), Root: object.Map("", object.Text("apiVersion", v1alpha1.APIVersion, nil))}
	var root *syntax.Node
	changed := false
	for i := range o.specs {
		s := &o.specs[i]
		if !s.selects(&spec) {
			continue
		}
		effects[i].Matched = true
		switch {
		case !document.Valid:
			effects[i].Changed = true
			continue
		case root == nil:
			if spec, root = last.specAsTree(document, spec.ID); root == nil {
				list.Errorf(diag.PatchedSpec, s.target, "%s is computed by `%s`", spec.ID, document.File.Path).
					Helpf("let the program compute it from what differs, or write it in YAML")
				effects[i].Changed = true
				continue
			}
		}
		before := list.Len()
		o.one.Lock()
		objects, done := s.apply([]object.Object{spec}, []int{0}, list)
		o.one.Unlock()
		effects[i].Changed = effects[i].Changed || done.Changed
		effects[i].Written = effects[i].Written.join(done.Written)
		effects[i].Replaced = effects[i].Replaced.join(done.Replaced)
		if len(objects) == 0 {
			list.Errorf(diag.PatchFails, s.at, "%s removes a spec", s.what).Helpf("take the cluster out of the tenant's `clusters`, or remove the spec's file")
			return document
		}
		if list.Len() > before {
			return document
		}
		spec, changed = objects[0], changed || done.Changed
	}
	if !changed {
		return document
	}
	t := specTree{file: document.File}
	patched := decode.PatchedDocument(document.File, t.syntaxNode(&spec.Root, root, spec.Rule), t.changes, list)
	return cmp.Or(patched, document)
}

func idOf(document *decode.Document) object.ID {
	id := object.ID{Group: specGroup}
	switch spec := document.Spec.(type) {
	case *v1alpha1.HardwareProfile:
		id.Kind, id.Name = v1alpha1.HardwareProfileKind, spec.Metadata.Name
	case *v1alpha1.MPIRuntime:
		id.Kind, id.Name = v1alpha1.MPIRuntimeKind, spec.Metadata.Name
	case *v1alpha1.Tenant:
		id.Kind, id.Name = v1alpha1.TenantKind, spec.Metadata.Name
	case *v1alpha1.Cluster:
		id.Kind, id.Name = v1alpha1.ClusterKind, spec.Metadata.Name
	}
	return id
}

// lastFile is the file that was read last: the specs of a file come one after the other.
type lastFile struct {
	file  *source.File
	trees []object.Node
	roots []*syntax.Node
}

// specAsTree returns a spec as a tree, and its syntax, which knows the places of keys; or nothing for a program.
func (r *lastFile) specAsTree(document *decode.Document, id object.ID) (object.Object, *syntax.Node) {
	if document.File.Language() != source.YAML {
		return object.Object{ID: id}, nil
	}
	if r.file != document.File {
		// The file was read before without a mistake.
		trees, roots, err := parseDocuments(document.File, document.File)
		if err != nil {
			return object.Object{ID: id}, nil
		}
		*r = lastFile{file: document.File, trees: trees, roots: roots}
	}
	for i := range r.trees {
		if r.trees[i].ID() == id {
			return object.Object{ID: id, Root: r.trees[i], Rule: r.trees[i].From}, r.roots[i]
		}
	}
	return object.Object{ID: id}, nil
}

// specTree turns a patched spec into syntax again, and numbers what the patch wrote.
type specTree struct {
	file    *source.File
	changes []*origin.Origin
}

// syntaxNode returns a value as syntax; was is the value at its place before, if there was one.
func (t *specTree) syntaxNode(n *object.Node, was *syntax.Node, from *origin.Origin) *syntax.Node {
	if n.From != nil {
		from = n.From
	}
	if was != nil {
		was = was.Follow()
	}
	result := &syntax.Node{At: t.placeOf(from), Value: n.Text}
	last := &result.First
	for i := range n.Children {
		child := &n.Children[i]
		if n.Kind == object.MapNode {
			key, before := entryNamed(was, child.Key)
			value := t.syntaxNode(child, before, from)
			name := &syntax.Node{Kind: syntax.Scalar, Tag: syntax.String, At: value.At, Value: child.Key, Next: value}
			switch {
			case key != nil:
				name.At = key.At
			case value.At.Path < 0:
				name.At = t.placeOf(&origin.Origin{Kind: origin.Patched, At: keyPlaceOf(child.Key, t.changes[-value.At.Path-1].At)})
			}
			*last, last = name, &value.Next
			continue
		}
		item := t.syntaxNode(child, itemAt(was, child.From), from)
		*last, last = item, &item.Next
	}
	result.Kind, result.Tag = syntaxOf(n)
	return result
}

// entryNamed returns the key and the value of an entry, or nothing.
func entryNamed(mapping *syntax.Node, name string) (key, value *syntax.Node) {
	if mapping == nil || mapping.Kind != syntax.Mapping {
		return nil, nil
	}
	for key := mapping.First; key != nil; key = key.Next.Next {
		if key.Value == name {
			return key, key.Next
		}
	}
	return nil, nil
}

// itemAt returns the item of a list that is at a place, or nothing.
func itemAt(list *syntax.Node, from *origin.Origin) *syntax.Node {
	if list == nil || list.Kind != syntax.Sequence || from == nil {
		return nil
	}
	for item := list.First; item != nil; item = item.Next {
		if int(item.At.Line) == from.At.Line && int(item.At.Column) == from.At.Column {
			return item
		}
	}
	return nil
}

func (t *specTree) placeOf(from *origin.Origin) syntax.Place {
	at := syntax.Place{Line: int32(from.At.Line), Column: int32(from.At.Column), Length: int32(from.At.Length)}
	if from.Kind == origin.Patched {
		t.changes = append(t.changes, from)
		at.Path = -int32(len(t.changes))
	}
	return at
}

func syntaxOf(n *object.Node) (syntax.Kind, syntax.Tag) {
	switch n.Kind {
	case object.MapNode:
		return syntax.Mapping, syntax.Map
	case object.ListNode:
		return syntax.Sequence, syntax.List
	case object.NumberNode:
		if strings.ContainsAny(n.Text, ".eE") {
			return syntax.Scalar, syntax.Float
		}
		return syntax.Scalar, syntax.Int
	case object.BoolNode:
		return syntax.Scalar, syntax.Bool
	case object.NullNode:
		return syntax.Scalar, syntax.Null
	}
	return syntax.Scalar, syntax.String
}
