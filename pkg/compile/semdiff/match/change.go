package match

import (
	"bytes"
	"cmp"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Change is one difference between two states of an object: a leaf, an item of a list, a list whose order has a meaning, or the
// object as a whole, whose Path is empty.
type Change struct {
	Cluster, Unit string
	// Before and After are the objects; one is nil where the object itself was added or removed.
	Before, After *object.Object
	Path          Path
	// Old and New are the values; one is nil where the value was added or removed.
	Old, New *object.Node
	// From and To are where the values come from; nil where there is no value.
	From, To *origin.Origin
	// Same says why the two values mean the same; "" if they do not.
	Same string
	// Disposal is what becomes of an object that only one state has, as far as its whole cluster decides it.
	Disposal Disposal

	// settings are the lines of a chart's values that differ, on both sides, where the object is rendered.
	settings [][2]source.Span
	// cut is the place of the patch that removed the object, or replaced what was around a removed value; nowhere where none did.
	cut source.Span
}

// Disposal is what becomes of an object that comes or goes. It is set where the whole cluster is known.
type Disposal struct {
	// WithTenant: it comes or goes with its namespace or its tenant.
	WithTenant bool
	// WithCluster: it comes or goes with its cluster.
	WithCluster bool
	// Stays: it is no longer compiled and stays on the cluster.
	Stays bool
}

// Object is the object as it is afterwards, or as it was where it is gone.
func (c *Change) Object() *object.Object { return cmp.Or(c.After, c.Before) }

// Kind is the kind of the object.
func (c *Change) Kind() string { return c.Object().ID.Kind }

// Added reports whether the value, or the object, was not there before.
func (c *Change) Added() bool { return c.Old == nil }

// Removed reports whether the value, or the object, is gone.
func (c *Change) Removed() bool { return c.New == nil }

// Whole reports whether the object as a whole was added or removed.
func (c *Change) Whole() bool { return len(c.Path) == 0 }

// Spans are the places of the specs that are responsible, on both sides; nowhere where a side has no value, or no spec behind it.
func (c *Change) Spans() (before, after source.Span) {
	before, after = c.spans()
	if !c.isRendered(before, after) {
		return before, after
	}
	if !sameText(before, after) && !before.IsZero() && !after.IsZero() {
		return editedLine(before, after, c.New.Scalar())
	}
	return c.settingSpans(before, after)
}

func (c *Change) spans() (before, after source.Span) {
	if c.Old != nil {
		before = c.responsibleSpan(c.Before, c.Old, c.From)
	}
	switch {
	case c.New != nil:
		after = c.responsibleSpan(c.After, c.New, c.To)
		if at := c.patchBelow(); !at.IsZero() {
			after = at
		}
	case !c.cut.IsZero():
		after = c.cut
	case c.After != nil:
		// Only a patch can say where something is taken away.
		after = c.After.Patched.Cut
	}
	if c.From != nil && c.To != nil && c.Old != nil && c.New != nil && sameText(before, after) {
		if was, is, found := differingSource(c.From, c.To); found {
			return was, is
		}
	}
	return before, after
}

// patchBelow is the place of the patch that wrote a part of the new value, such as an item of a list whose order has a meaning.
func (c *Change) patchBelow() source.Span {
	if c.Whole() || c.New.Leaf() || c.To != nil && c.To.Kind == origin.Patched {
		return source.Span{}
	}
	return c.After.WritingPatchSpan(c.New)
}

// differingSource is the first of the other places that two values follow from which differs: the place of the values themselves is the same.
func differingSource(from, to *origin.Origin) (before, after source.Span, found bool) {
	for _, after := range to.Also {
		i := slices.IndexFunc(from.Also, func(s source.Span) bool { return s.Path() == after.Path() && s.Line == after.Line })
		switch {
		case i < 0:
			return source.Span{}, after, true
		case !sameText(from.Also[i], after):
			return from.Also[i], after, true
		}
	}
	return differingOverridden(from, to)
}

// differingOverridden is the place of the first of the values that two values replaced which differs: the image that a mirror gives another name.
func differingOverridden(from, to *origin.Origin) (before, after source.Span, found bool) {
	for i := range min(len(from.Lost), len(to.Lost)) {
		was, is := &from.Lost[i], &to.Lost[i]
		if was.Value == is.Value || was.Origin == nil || is.Origin == nil {
			continue
		}
		before, after = was.Origin.At, is.Origin.At
		if !before.IsZero() && !after.IsZero() && !sameText(before, after) {
			return before, after, true
		}
	}
	return source.Span{}, source.Span{}, false
}

// sameText reports whether two places of one file have the same text: their lines, or the whole of it.
func sameText(a, b source.Span) bool {
	switch {
	case a.IsZero() || b.IsZero() || a.Path() != b.Path():
		return false
	case a.Line == 0 || b.Line == 0:
		return a.Line == b.Line && bytes.Equal(a.File.Data, b.File.Data)
	}
	return a.File.Line(a.Line) == b.File.Line(b.Line)
}

// placeBelow is the place of the first part of a value that has one.
func placeBelow(n *object.Node) source.Span {
	for i := range n.Children {
		child := &n.Children[i]
		if child.From != nil && !child.From.At.IsZero() {
			return child.From.At
		}
		if at := placeBelow(child); !at.IsZero() {
			return at
		}
	}
	return source.Span{}
}

// Renamed reports whether the object as a whole has another name, and the same content.
func (c *Change) Renamed() bool { return c.Whole() && c.Old != nil && c.New != nil }

// responsibleSpan is the place of an origin, or that of a part of the value, such as the first item of a list that was not there; or the spec behind
// the object where no value has one.
func (c *Change) responsibleSpan(o *object.Object, value *object.Node, from *origin.Origin) source.Span {
	if from != nil && !from.At.IsZero() {
		return from.At
	}
	if !c.Whole() && o != nil && o.ID.Group != "kueue.x-k8s.io" { // what a queue has of a resource is one thing, on whatever lines
		if at := placeBelow(value); !at.IsZero() {
			return at
		}
	}
	if o == nil {
		return source.Span{}
	}
	return o.Origin
}
