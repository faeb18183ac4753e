package match

import (
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// How Kubernetes tells the items of lists apart (x-kubernetes-list-type and -map-keys of its OpenAPI, the merge keys of its API
// conventions). Lists of objects with a `name` are keyed by it; what is in neither table is compared by content.
var listKeys = map[string][]string{
	"ports":                     {"containerPort", "port", "endPort", "protocol"},
	"volumeMounts":              {"mountPath"},
	"volumeDevices":             {"devicePath"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"subjects":                  {"kind", "namespace", "name"},
	"limits":                    {"type"},
	"hostAliases":               {"ip"},
	"validations":               {"expression"},
	"levels":                    {"nodeLabel"},
	"tolerations":               {"key", "operator", "value", "effect", "tolerationSeconds"},
	"env":                       {"name"},
}

// orderedLists are lists whose order has a meaning. Others are sets.
var orderedLists = []string{"command", "args", "initContainers", "flavors", "levels", "resourceGroups"}

func isOrderedList(name string) bool { return slices.Contains(orderedLists, name) }

// compareLists compares two lists: the items that belong together, those that only one has, and the order of the ones that belong together.
func (d *objectDiffer) compareLists(a, b *object.Node, s originSides) {
	name, values := d.path.Last(), hasOnlyScalars(a) && hasOnlyScalars(b)
	if values && (isOrderedList(name) || hasRepeats(a) || hasRepeats(b)) {
		if !d.equal(a, b) {
			d.addChange(a, b, s.from, s.to, "")
		}
		return
	}
	keyOf, keyed := itemKeyOf(name, a, b)
	p := itemPairing{taken: make([]bool, len(a.Children)), old: make([]int, len(b.Children)), inOrder: true}
	switch {
	case values:
		keyOf = func(n *object.Node) string { return n.Text }
		p.pair(a, b, d.equal)
	case keyed:
		p.pairByKey(a, b, keyOf, d.renamed)
	default:
		p.pair(a, b, d.equal)
		p.pairRest()
	}
	segment := func(i int, item *object.Node) string {
		if keyOf == nil {
			return strconv.Itoa(i)
		}
		return keyOf(item)
	}
	for i := range b.Children {
		item := &b.Children[i]
		if old := p.old[i]; old >= 0 {
			d.compareItems(segment(i, item), &a.Children[old], item, s)
		} else {
			d.compareItems(segment(i, item), nil, item, s)
		}
	}
	if values {
		s.to = replacingPatch(b, s.to)
	}
	for i := range a.Children {
		if !p.taken[i] {
			d.compareItems(segment(i, &a.Children[i]), &a.Children[i], nil, s)
		}
	}
	if !p.inOrder {
		d.compareOrder(a, b, s)
	}
}

// itemPairing says which items of two lists belong together.
type itemPairing struct {
	// old is for each item of the list afterwards the index of the one before, or -1; taken are those that have one.
	old   []int
	taken []bool
	// inOrder reports whether those that belong together come in the same order; last is the index of the last one before.
	inOrder bool
	last    int
}

func (p *itemPairing) take(i, at int) {
	p.old[i] = at
	if at < 0 {
		return
	}
	p.inOrder = p.inOrder && at >= p.last
	p.taken[at], p.last = true, at
}

// pair takes for each item the first one that fits.
func (p *itemPairing) pair(a, b *object.Node, fit func(old, later *object.Node) bool) {
	for i := range b.Children {
		at := -1
		for j := range a.Children {
			if !p.taken[j] && fit(&a.Children[j], &b.Children[i]) {
				at = j
				break
			}
		}
		p.take(i, at)
	}
}

// pairByKey takes for each item the one with its key, which is another one where names were replaced.
func (p *itemPairing) pairByKey(a, b *object.Node, keyOf func(*object.Node) string, r *renaming) {
	place := make(map[string]int, len(a.Children))
	for i := range a.Children {
		place[keyOf(&a.Children[i])] = i
	}
	for i := range b.Children {
		key := keyOf(&b.Children[i])
		at, found := place[key]
		if !found && r != nil {
			at = slices.IndexFunc(a.Children, func(n object.Node) bool { return r.isSameText(keyOf(&n), key) })
			found = at >= 0 && !p.taken[at]
		}
		if !found {
			at = -1
		}
		p.take(i, at)
	}
}

// pairRest takes of what is left the first with the first. Their order is not known.
func (p *itemPairing) pairRest() {
	for i, old := range p.old {
		if old >= 0 {
			continue
		}
		if at := slices.Index(p.taken, false); at >= 0 {
			p.old[i], p.taken[at] = at, true
		}
	}
}

// compareItems compares two items with one key. Nil is one that is not there.
func (d *objectDiffer) compareItems(key string, a, b *object.Node, s originSides) {
	d.compareBelow(key, func() {
		switch {
		case a == nil:
			if b.From != nil {
				s.to = b.From
			}
			d.addChange(nil, b, s.from, s.to, "")
		case b == nil:
			if a.From != nil {
				s.from = a.From
			}
			d.addChange(a, nil, s.from, s.to, "")
		default:
			d.compareNodes(a, b, s.from, s.to)
		}
	})
}

// replacingPatch is the patch that wrote the items of a list, and so took away those that are not there, or else where the list comes from.
func replacingPatch(list *object.Node, from *origin.Origin) *origin.Origin {
	for i := range list.Children {
		if own := list.Children[i].From; own != nil && own.Kind == origin.Patched {
			return own
		}
	}
	return from
}

// compareOrder notes that items which belong together come in another order.
func (d *objectDiffer) compareOrder(a, b *object.Node, s originSides) {
	name, reason := d.path.Last(), "only the order changed, which has no meaning here"
	if isOrderedList(name) || name == "env" && (refersToVariables(a) || refersToVariables(b)) {
		reason = ""
	}
	d.addChange(a, b, s.from, s.to, reason)
}

// refersToVariables reports whether some variable is made of others, so that their order matters.
func refersToVariables(list *object.Node) bool {
	return slices.ContainsFunc(list.Children, func(n object.Node) bool { return strings.Contains(n.Scalar("value"), "$(") })
}

// itemKeyOf returns how the items of two lists are told apart, and false where two items of a list would have one key.
func itemKeyOf(name string, a, b *object.Node) (func(*object.Node) string, bool) {
	for _, fields := range [][]string{listKeys[name], {"name"}} {
		if fields == nil {
			continue
		}
		keyOf := func(n *object.Node) string { return keyText(n, fields) }
		if hasUniqueKeys(a, keyOf) && hasUniqueKeys(b, keyOf) {
			return keyOf, true
		}
	}
	return nil, false
}

// keyText is the values of the fields of a key that an item has, "" for none.
func keyText(n *object.Node, fields []string) string {
	if len(fields) == 1 {
		return n.Scalar(fields[0])
	}
	var parts []string
	for _, field := range fields {
		switch value := n.Get(field); {
		case value != nil:
			parts = append(parts, value.Text)
		case field == "protocol":
			parts = append(parts, "TCP")
		}
	}
	return strings.Join(parts, "/")
}

func hasUniqueKeys(list *object.Node, keyOf func(*object.Node) string) bool {
	seen := make(map[string]bool, len(list.Children))
	for i := range list.Children {
		key := keyOf(&list.Children[i])
		if key == "" || seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

func hasOnlyScalars(list *object.Node) bool {
	return !slices.ContainsFunc(list.Children, func(n object.Node) bool { return n.Kind == object.MapNode || n.Kind == object.ListNode })
}

// hasRepeats reports whether a value is in a list twice.
func hasRepeats(list *object.Node) bool {
	for i := range list.Children {
		for j := range i {
			if list.Children[i].Text == list.Children[j].Text {
				return true
			}
		}
	}
	return false
}
