package object

import (
	"maps"

	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// PatchTrace is what patches did to an object, for those who look for the cause of what is wrong with it. The zero PatchTrace is nothing.
type PatchTrace struct {
	// Changed says that some value was written by a patch: its origin says so.
	Changed bool
	// Cut is the place of the first patch that took something away, which no value can say.
	Cut source.Span
}

// PatchSpan returns the place of the patch that a part of the object has to do with: the first that wrote a value there, else the first
// that took something away from the object. It is nowhere for an object as it was compiled.
func (o *Object) PatchSpan(parts ...*Node) source.Span {
	if at := o.WritingPatchSpan(parts...); !at.IsZero() {
		return at
	}
	return o.Patched.Cut
}

// WritingPatchSpan returns the place of the first patch that wrote a value in a part of the object, or nowhere. Parts may be nil.
func (o *Object) WritingPatchSpan(parts ...*Node) source.Span {
	if !o.Patched.Changed {
		return source.Span{}
	}
	for _, part := range parts {
		if at := part.patchSpan(); !at.IsZero() {
			return at
		}
	}
	return source.Span{}
}

func (n *Node) patchSpan() source.Span {
	if n == nil {
		return source.Span{}
	}
	if n.From != nil && n.From.Kind == origin.Patched {
		return n.From.At
	}
	for i := range n.Children {
		if at := n.Children[i].patchSpan(); !at.IsZero() {
			return at
		}
	}
	return source.Span{}
}

// Removals are objects that patches removed, with the places of these.
type Removals map[ID]source.Span

// Join returns the removals of both.
func (r Removals) Join(other Removals) Removals {
	switch {
	case len(r) == 0:
		return other
	case len(other) == 0:
		return r
	}
	all := maps.Clone(r)
	maps.Copy(all, other)
	return all
}

// SpanOf returns the place of the patch that removed an object of a kind, or nowhere. An empty name stands for any: then it is the first
// place.
func (r Removals) SpanOf(kind, namespace, name string) source.Span {
	var first source.Span
	for id, at := range r {
		if id.Kind == kind && id.Namespace == namespace && (name == "" || id.Name == name) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
