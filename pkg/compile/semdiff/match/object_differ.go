package match

import (
	"cmp"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/mpi"
)

// objectDiffer finds the changes between two states of one object.
type objectDiffer struct {
	cluster, unit string
	before, after *object.Object
	// renamed says how names of the one side are called on the other; nil where nothing is renamed.
	renamed *renaming
	found   []*Change
	path    Path
}

// Folder is the path of a Change that moves an object to another folder of the output, and with it to another stage of the engine.
const Folder = "(folder)"

// changes returns what is different between two states of an object, in the order of its paths.
func (d *objectDiffer) changes() []*Change {
	if d.before.Folder != d.after.Folder && d.renamed == nil {
		before, after := object.Text("", d.before.Folder, nil), object.Text("", d.after.Folder, nil)
		d.path = Path{Folder}
		d.addChange(&before, &after, nil, nil, "")
		d.path = nil
	}
	d.compareNodes(&d.before.Root, &d.after.Root, d.before.Rule, d.after.Rule)
	if slices.ContainsFunc(d.found, func(c *Change) bool { return c.Path.Is("spec", "**") }) {
		// That of a runtime follows from its spec.
		d.found = slices.DeleteFunc(d.found, func(c *Change) bool { return c.Path.Is("metadata", "annotations", mpi.FingerprintAnnotation) })
	}
	return d.found
}

// originSides are the origins that hold for the two values.
type originSides struct{ from, to *origin.Origin }

func (d *objectDiffer) compareNodes(a, b *object.Node, from, to *origin.Origin) {
	if a.From != nil {
		from = a.From
	}
	if b.From != nil {
		to = b.From
	}
	s := originSides{from, to}
	switch {
	case a.Kind != b.Kind || a.Kind != object.MapNode && a.Kind != object.ListNode:
		d.compareScalars(a, b, s)
	case a.Kind == object.MapNode:
		d.compareFields(a, b, s)
	default:
		d.compareLists(a, b, s)
	}
}

func (d *objectDiffer) compareScalars(a, b *object.Node, s originSides) {
	if !d.equal(a, b) {
		d.addChange(a, b, s.from, s.to, sameMeaning(d.path, a, b))
	}
}

// compareFields compares maps, whose entries are sorted.
func (d *objectDiffer) compareFields(a, b *object.Node, s originSides) {
	i, j := 0, 0
	for i < len(a.Children) || j < len(b.Children) {
		switch {
		case j == len(b.Children) || i < len(a.Children) && a.Children[i].Key < b.Children[j].Key:
			d.noteRemovedEntry(&a.Children[i], s)
			i++
		case i == len(a.Children) || b.Children[j].Key < a.Children[i].Key:
			d.noteAddedEntry(&b.Children[j], s)
			j++
		default:
			d.compareBelow(b.Children[j].Key, func() { d.compareNodes(&a.Children[i], &b.Children[j], s.from, s.to) })
			i, j = i+1, j+1
		}
	}
}

// noteRemovedEntry notes an entry of a map that only the one side has. Its leaves are changes of their own, so that each finds its rule.
func (d *objectDiffer) noteRemovedEntry(child *object.Node, s originSides) {
	d.compareBelow(child.Key, func() {
		if child.Kind == object.MapNode && len(child.Children) > 0 {
			none := object.Map(child.Key)
			d.compareNodes(child, &none, s.from, s.to)
			return
		}
		from := s.from
		if child.From != nil {
			from = child.From
		}
		d.addChange(child, nil, from, s.to, whyDefaulted(d.after.ID.Kind, d.path, child, &d.after.Root))
	})
}

func (d *objectDiffer) noteAddedEntry(child *object.Node, s originSides) {
	d.compareBelow(child.Key, func() {
		if child.Kind == object.MapNode && len(child.Children) > 0 {
			none := object.Map(child.Key)
			d.compareNodes(&none, child, s.from, s.to)
			return
		}
		to := s.to
		if child.From != nil {
			to = child.From
		}
		d.addChange(nil, child, s.from, to, whyDefaulted(d.after.ID.Kind, d.path, child, &d.after.Root))
	})
}

func (d *objectDiffer) compareBelow(key string, do func()) {
	d.path = append(d.path, key)
	do()
	d.path = d.path[:len(d.path)-1]
}

func (d *objectDiffer) addChange(a, b *object.Node, from, to *origin.Origin, same string) {
	c := &Change{Cluster: d.cluster, Unit: d.unit, Before: d.before, After: d.after, Path: append(Path(nil), d.path...), Old: a, New: b, Same: same}
	if a != nil {
		c.From = from
	}
	if b != nil {
		c.To = to
	} else if to != nil && to.Kind == origin.Patched {
		c.cut = to.At
	}
	d.found = append(d.found, c)
}

// equal reports whether two trees have the same content, whatever they are called where names are replaced.
func (d *objectDiffer) equal(a, b *object.Node) bool {
	if a.Kind != b.Kind || len(a.Children) != len(b.Children) || a.Text != b.Text && !d.renamed.isSameText(a.Text, b.Text) {
		return false
	}
	for i := range a.Children {
		x, y := &a.Children[i], &b.Children[i]
		if x.Key != y.Key || !d.equal(x, y) {
			return false
		}
	}
	return true
}

// Equal reports whether two trees have the same content.
func Equal(a, b *object.Node) bool { return (&objectDiffer{}).equal(a, b) }

// addLeaves adds all values below a node, the items of lists of values by what they are, as those of two lists are compared.
func (d *objectDiffer) addLeaves(n *object.Node) {
	if n.Leaf() {
		d.addChange(nil, n, nil, nil, "")
		return
	}
	for i := range n.Children {
		child := &n.Children[i]
		segment := n.Segment(i)
		if n.Kind == object.ListNode {
			segment = cmp.Or(child.Scalar(), segment)
		}
		d.compareBelow(segment, func() { d.addLeaves(child) })
	}
}

// Leaves are the values below a part of the object as it is afterwards, each as the change from nothing that it is. They are to be judged;
// what is told is the change itself.
func (c *Change) Leaves(path Path, part *object.Node) []*Change {
	d := objectDiffer{cluster: c.Cluster, unit: c.Unit, before: c.Before, after: c.After, path: slices.Clone(path)}
	d.addLeaves(part)
	return d.found
}

// ValuesBeyond are the values by which the object as it is afterwards differs from another one that could have been there before.
func (c *Change) ValuesBeyond(before *object.Node) []*Change {
	d := objectDiffer{cluster: c.Cluster, unit: c.Unit, before: c.After, after: c.After}
	d.compareNodes(before, c.New, nil, nil)
	return d.found
}
