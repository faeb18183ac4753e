package semdiff

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
var orderedLists = map[string]string{
	"command": "", "args": "", "initContainers": "", "flavors": "", "levels": "", "resourceGroups": "", "rules.priority": "",
}

// list compares two lists.
func (d *differ) list(a, b *object.Node, s sides) {
	name := d.path.Last()
	if scalars(a) && scalars(b) {
		d.scalars(name, a, b, s)
		return
	}
	keyOf, keyed := keys(name, a, b)
	if !keyed {
		d.byContent(a, b, s)
		return
	}
	place := map[string]*object.Node{}
	for i := range a.Children {
		place[keyOf(&a.Children[i])] = &a.Children[i]
	}
	for i := range b.Children {
		key := keyOf(&b.Children[i])
		former := d.former(place, key)
		old := place[former]
		delete(place, former)
		d.item(key, old, &b.Children[i], s)
	}
	for i := range a.Children {
		if key := keyOf(&a.Children[i]); place[key] != nil {
			d.item(key, &a.Children[i], nil, s)
		}
	}
	d.order(a, b, s, func(n *object.Node) string { return keyOf(n) })
}

// former is the key that an item had before, which is another one where names were replaced.
func (d *differ) former(place map[string]*object.Node, key string) string {
	if place[key] != nil || d.renamed == nil {
		return key
	}
	for old := range place {
		if d.renamed.same(old, key) {
			return old
		}
	}
	return key
}

// item compares two items with one key. Nil is one that is not there.
func (d *differ) item(key string, a, b *object.Node, s sides) {
	d.below(key, func() {
		switch {
		case a == nil:
			if b.From != nil {
				s.to = b.From
			}
			d.add(nil, b, s.from, s.to, "")
		case b == nil:
			if a.From != nil {
				s.from = a.From
			}
			d.add(a, nil, s.from, s.to, "")
		default:
			d.node(a, b, s.from, s.to)
		}
	})
}

// scalars compares lists of values: as sets, or as a whole where their order has a meaning.
func (d *differ) scalars(name string, a, b *object.Node, s sides) {
	if _, ordered := orderedLists[name]; ordered || repeats(a) || repeats(b) {
		if !d.equal(a, b) {
			d.add(a, b, s.from, s.to, "")
		}
		return
	}
	for i := range b.Children {
		if item := &b.Children[i]; !d.holds(a, item) {
			d.item(item.Text, nil, item, s)
		}
	}
	for i := range a.Children {
		if item := &a.Children[i]; !d.held(item, b) {
			d.item(item.Text, item, nil, sides{s.from, replacing(b, s.to)})
		}
	}
	d.order(a, b, s, func(n *object.Node) string { return n.Text })
}

// replacing is the patch that wrote the items of a list, and so took away those that are not there, or else where the list comes from.
func replacing(list *object.Node, from *origin.Origin) *origin.Origin {
	for i := range list.Children {
		if own := list.Children[i].From; own != nil && own.Kind == origin.Patched {
			return own
		}
	}
	return from
}

func (d *differ) holds(list, item *object.Node) bool {
	return slices.ContainsFunc(list.Children, func(old object.Node) bool { return d.equal(&old, item) })
}

func (d *differ) held(item, list *object.Node) bool {
	return slices.ContainsFunc(list.Children, func(other object.Node) bool { return d.equal(item, &other) })
}

// order notes that items which both lists have come in another order.
func (d *differ) order(a, b *object.Node, s sides, keyOf func(*object.Node) string) {
	old, later := common(a, b, keyOf, d.renamed), common(b, a, keyOf, d.renamed)
	if slices.EqualFunc(old, later, func(x, y string) bool { return x == y || d.renamed.same(x, y) }) {
		return
	}
	name, reason := d.path.Last(), "only the order changed, which has no meaning here"
	if _, ordered := orderedLists[name]; ordered || name == "env" && (refers(a) || refers(b)) {
		reason = ""
	}
	d.add(a, b, s.from, s.to, reason)
}

// common returns the keys of the items that the other list has too, in the order of this one.
func common(list, other *object.Node, keyOf func(*object.Node) string, r *renaming) []string {
	found := make([]string, 0, len(list.Children))
	for i := range list.Children {
		key := keyOf(&list.Children[i])
		if slices.ContainsFunc(other.Children, func(n object.Node) bool { return keyOf(&n) == key || r.same(keyOf(&n), key) || r.same(key, keyOf(&n)) }) {
			found = append(found, key)
		}
	}
	return found
}

// refers says whether some variable is made of others, so that their order matters.
func refers(list *object.Node) bool {
	return slices.ContainsFunc(list.Children, func(n object.Node) bool { return strings.Contains(n.Scalar("value"), "$(") })
}

// byContent compares lists whose items have no key: equal ones belong together, and of what is left the first with the first.
func (d *differ) byContent(a, b *object.Node, s sides) {
	left := make([]*object.Node, 0, len(a.Children))
	for i := range a.Children {
		left = append(left, &a.Children[i])
	}
	var unmatched []int
	var order []*object.Node
	for i := range b.Children {
		at := slices.IndexFunc(left, func(n *object.Node) bool { return n != nil && d.equal(n, &b.Children[i]) })
		if at < 0 {
			unmatched = append(unmatched, i)
			continue
		}
		order = append(order, left[at])
		left[at] = nil
	}
	for _, i := range unmatched {
		at := slices.IndexFunc(left, func(n *object.Node) bool { return n != nil })
		if at < 0 {
			d.item(strconv.Itoa(i), nil, &b.Children[i], s)
			continue
		}
		d.item(strconv.Itoa(i), left[at], &b.Children[i], s)
		left[at] = nil
	}
	for i, item := range left {
		if item != nil {
			d.item(strconv.Itoa(i), item, nil, s)
		}
	}
	d.contentOrder(a, b, order, s)
}

// contentOrder notes that the items which are equal on both sides come in another order.
func (d *differ) contentOrder(a, b *object.Node, order []*object.Node, s sides) {
	last := -1
	for _, item := range order {
		at := indexOf(a, item)
		if at < last {
			reason := "only the order changed, which has no meaning here"
			if _, ordered := orderedLists[d.path.Last()]; ordered {
				reason = ""
			}
			d.add(a, b, s.from, s.to, reason)
			return
		}
		last = at
	}
}

func indexOf(list, item *object.Node) int {
	for i := range list.Children {
		if &list.Children[i] == item {
			return i
		}
	}
	return -1
}

// keys returns how the items of two lists are told apart, and false where two items of a list would have one key.
func keys(name string, a, b *object.Node) (func(*object.Node) string, bool) {
	for _, fields := range [][]string{listKeys[name], {"name"}} {
		if fields == nil {
			continue
		}
		keyOf := func(n *object.Node) string { return keyText(n, fields) }
		if unique(a, keyOf) && unique(b, keyOf) {
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

func unique(list *object.Node, keyOf func(*object.Node) string) bool {
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

func scalars(list *object.Node) bool {
	return !slices.ContainsFunc(list.Children, func(n object.Node) bool { return n.Kind == object.MapNode || n.Kind == object.ListNode })
}

// repeats says whether a value is in a list twice.
func repeats(list *object.Node) bool {
	for i := range list.Children {
		for j := range i {
			if list.Children[i].Text == list.Children[j].Text {
				return true
			}
		}
	}
	return false
}
