package semdiff

import (
	"bytes"
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

	// setting is the line of a chart's values that differs, or the file of the chart, on both sides, where the object is rendered: it comes
	// or goes by that.
	setting [2]source.Span
	// withTenant says that the whole object comes or goes with its namespace or its tenant.
	withTenant bool
	// left says that the object is no longer compiled and stays on the cluster.
	left bool
	// withCluster says that it comes or goes with its cluster.
	withCluster bool
	// cut is the place of the patch that removed the object, or replaced what was around a removed value; nowhere where none did.
	cut source.Span
}

// Object is the object as it is afterwards, or as it was where it is gone.
func (c *Change) Object() *object.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Kind is the kind of the object.
func (c *Change) Kind() string { return c.Object().ID.Kind }

// Added says that the value, or the object, was not there before.
func (c *Change) Added() bool { return c.Old == nil }

// Removed says that the value, or the object, is gone.
func (c *Change) Removed() bool { return c.New == nil }

// Whole says that the object as a whole was added or removed.
func (c *Change) Whole() bool { return len(c.Path) == 0 }

// Spans are the places of the specs that are responsible, on both sides; nowhere where a side has no value, or no spec behind it.
func (c *Change) Spans() (before, after source.Span) {
	if c.setting != [2]source.Span{} && c.cut.IsZero() {
		return c.setting[0], c.setting[1]
	}
	if c.Old != nil {
		before = responsible(c.Before, c.From)
	}
	switch {
	case c.New != nil:
		after = responsible(c.After, c.To)
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
		if was, is, found := elsewhere(c.From, c.To); found {
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
	return c.After.Wrote(c.New)
}

// settingOf is the place of a component's values that differs between two states of its objects; nowhere where none does.
func settingOf(before, after []object.Object) [2]source.Span {
	from, to := ruleOf(before), ruleOf(after)
	if from == nil || to == nil {
		return [2]source.Span{}
	}
	was, is, _ := elsewhere(from, to)
	return [2]source.Span{was, is}
}

// ruleOf is the origin of what a chart renders, nil for other objects.
func ruleOf(objects []object.Object) *origin.Origin {
	if len(objects) == 0 || objects[0].Rule == nil || objects[0].Rule.Kind != origin.Rendered {
		return nil
	}
	return objects[0].Rule
}

// by returns the change with the line of values that it comes by; where none differs, with the file of the chart, if the release was there
// on both sides.
func (c *Change) by(setting [2]source.Span, released bool) *Change {
	c.setting = setting
	if !released || setting != [2]source.Span{} {
		return c
	}
	for i, root := range []*object.Node{c.Old, c.New} {
		if root != nil && root.From != nil && root.From.Kind == origin.Rendered {
			c.setting[i] = root.From.At
		}
	}
	return c
}

// elsewhere is the first of the other places that two values follow from which differs: the place of the values themselves is the same.
func elsewhere(from, to *origin.Origin) (before, after source.Span, found bool) {
	for _, after := range to.Also {
		i := slices.IndexFunc(from.Also, func(s source.Span) bool { return s.Path() == after.Path() && s.Line == after.Line })
		switch {
		case i < 0:
			return source.Span{}, after, true
		case !sameText(from.Also[i], after):
			return from.Also[i], after, true
		}
	}
	return beneath(from, to)
}

// beneath is the place of the first of the values that two values replaced which differs: the image that a mirror gives another name.
func beneath(from, to *origin.Origin) (before, after source.Span, found bool) {
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

// sameText says whether two places of one file have the same text: their lines, or the whole of it.
func sameText(a, b source.Span) bool {
	switch {
	case a.IsZero() || b.IsZero() || a.Path() != b.Path():
		return false
	case a.Line == 0 || b.Line == 0:
		return a.Line == b.Line && bytes.Equal(a.File.Data, b.File.Data)
	}
	return a.File.Line(a.Line) == b.File.Line(b.Line)
}

// Renamed says that the object as a whole has another name, and the same content.
func (c *Change) Renamed() bool { return c.Whole() && c.Old != nil && c.New != nil }

// responsible is the place of an origin, or the spec behind the object where it has none.
func responsible(o *object.Object, from *origin.Origin) source.Span {
	if from != nil && !from.At.IsZero() {
		return from.At
	}
	if o == nil {
		return source.Span{}
	}
	return o.Origin
}

// partedBy parts a list by what a key says of each item, in the order in which the keys first come.
func partedBy[T any, K comparable](list []T, key func(T) K) [][]T {
	at := map[K]int{}
	var parts [][]T
	for _, item := range list {
		k := key(item)
		i, known := at[k]
		if !known {
			i = len(parts)
			at[k] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], item)
	}
	return parts
}

// cause is an object and the lines that are responsible for a change of it.
type cause struct {
	object        string
	before, after place
}

// parts divides changes by object and by the lines that are responsible, in their order.
func parts(changes []*Change) [][]*Change {
	return partedBy(changes, func(c *Change) cause {
		before, after := c.Spans()
		return cause{c.Object().ID.String(), placeOf(before), placeOf(after)}
	})
}

// byObject divides changes by object, in their order.
func byObject(changes []*Change) [][]*Change {
	return partedBy(changes, func(c *Change) string { return c.Object().ID.String() })
}

// Path leads to a value in an object: keys of maps; items of lists by the keys that Kubernetes tells them apart by, else by index.
type Path []string

// String returns for example `spec.hard["requests.cpu"]`, as explain takes it.
func (p Path) String() string { return object.Spell(p) }

// short is the path as a sentence needs it: within the pod template of a job, after the name of the job.
func (p Path) short() string {
	if p.Is("metadata", "annotations", "*") || p.Is("metadata", "labels", "*") {
		return p[2]
	}
	job := ""
	for i, key := range p {
		if key == "replicatedJobs" && i+1 < len(p) {
			job = p[i+1] + ": "
		}
	}
	for i := len(p) - 1; i > 1; i-- {
		if p[i-1] == "spec" && p[i-2] == "template" {
			return job + p[i:].String()
		}
	}
	if len(p) > 1 && p[0] == "spec" {
		return p[1:].String()
	}
	return p.String()
}

// Is says whether the path is equal to a pattern of keys, in which `*` stands for any one of them and `**` at the end for the rest.
func (p Path) Is(pattern ...string) bool {
	for i, key := range pattern {
		switch {
		case key == "**":
			return true
		case i >= len(p) || key != "*" && key != p[i]:
			return false
		}
	}
	return len(p) == len(pattern)
}

// Has says whether a key is in the path.
func (p Path) Has(key string) bool {
	for _, own := range p {
		if own == key {
			return true
		}
	}
	return false
}

// Last is the last key, or "".
func (p Path) Last() string {
	if len(p) == 0 {
		return ""
	}
	return p[len(p)-1]
}
