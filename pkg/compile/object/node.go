package object

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/origin"
)

// Node is one value of an object. The zero Node is nothing: maps and lists leave it out.
type Node struct {
	// Key is the key in the map around it; empty in a list.
	Key  string
	Kind Kind
	// Text is a scalar: a string as it is, a number or boolean as JSON writes it.
	Text string
	// Children are the entries of a map, sorted by key, or the items of a list.
	Children []Node
	// From is where the value comes from; nil means from where the nearest container does, at last the object's Rule.
	From *origin.Origin
}

// Kind is a kind of JSON value.
type Kind uint8

// The kinds of a Node.
const (
	Nothing Kind = iota
	MapNode
	ListNode
	TextNode
	NumberNode
	BoolNode
	NullNode
)

// Map returns a map of children, which it sorts and owns.
func Map(key string, children ...Node) Node {
	return Node{Key: key, Kind: MapNode, Children: sortByKey(dropNothingNodes(children))}
}

// List returns a list of items, which it owns.
func List(key string, items ...Node) Node {
	return Node{Key: key, Kind: ListNode, Children: dropNothingNodes(items)}
}

// Text returns a string.
func Text(key, value string, from *origin.Origin) Node {
	return Node{Key: key, Kind: TextNode, Text: value, From: from}
}

// Texts returns a list of strings that share an origin.
func Texts(key string, from *origin.Origin, values ...string) Node {
	items := make([]Node, len(values))
	for i, value := range values {
		items[i] = Text("", value, nil)
	}
	return List(key, items...).With(from)
}

// Number returns a whole number.
func Number(key string, value int64, from *origin.Origin) Node {
	return Node{Key: key, Kind: NumberNode, Text: strconv.FormatInt(value, 10), From: from}
}

// Bool returns a boolean.
func Bool(key string, value bool, from *origin.Origin) Node {
	return Node{Key: key, Kind: BoolNode, Text: strconv.FormatBool(value), From: from}
}

// Quantity returns an amount in its canonical form, a string as in all of Kubernetes.
func Quantity(key string, value resource.Quantity, from *origin.Origin) Node {
	var buffer [24]byte
	number, suffix := value.CanonicalizeBytes(buffer[:0])
	return Text(key, string(append(number, suffix...)), from)
}

// Count returns a number in the form of an amount.
func Count(key string, value int64, from *origin.Origin) Node {
	return Quantity(key, *resource.NewQuantity(value, resource.DecimalSI), from)
}

// With returns the node with an origin, which holds for all below it that has none of its own.
func (n Node) With(from *origin.Origin) Node {
	n.From = from
	return n
}

// Named returns the node under another key.
func (n Node) Named(key string) Node {
	n.Key = key
	return n
}

// Get returns the entry of a map, or nil.
func (n *Node) Get(key string) *Node {
	for i := range n.Children {
		if n.Kind == MapNode && n.Children[i].Key == key {
			return &n.Children[i]
		}
	}
	return nil
}

// Items returns the items of a list or the entries of a map; none for a nil Node.
func (n *Node) Items() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for i := 0; n != nil && i < len(n.Children); i++ {
			if !yield(&n.Children[i]) {
				return
			}
		}
	}
}

// Put adds an entry to a map, or replaces the one that has its key.
func (n *Node) Put(entry Node) {
	if present := n.Get(entry.Key); present != nil {
		*present = entry
		return
	}
	n.Children = sortByKey(append(n.Children, entry))
}

// At returns the value at a path of keys, or nil. The node may be nil; an empty path leads to the node itself.
func (n *Node) At(path ...string) *Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		n = n.Get(key)
	}
	return n
}

// StringAt returns the string at a path, or "" where there is nothing, or no string: the number 1 is none. The node may be nil.
func (n *Node) StringAt(path ...string) string {
	if found := n.At(path...); found != nil && found.Kind == TextNode {
		return found.Text
	}
	return ""
}

// Scalar returns the text of the scalar at a path, for a number or a boolean as JSON writes it, or "" where there is none. The node may
// be nil.
func (n *Node) Scalar(path ...string) string {
	if found := n.At(path...); found != nil {
		return found.Text // maps, lists and null have none
	}
	return ""
}

// Strings returns of a list what Scalar says of each item. The node may be nil, which has none.
func (n *Node) Strings() []string {
	if n == nil {
		return nil
	}
	texts := make([]string, len(n.Children))
	for i := range n.Children {
		texts[i] = n.Children[i].Text
	}
	return texts
}

// Leaf reports whether the node has nothing below it: a scalar, or an empty map or list.
func (n *Node) Leaf() bool { return len(n.Children) == 0 }

// Segment names the i-th child in a path: by its key, in a list by the item's `name` where it has one, else by its index.
func (n *Node) Segment(i int) string {
	child := &n.Children[i]
	if n.Kind == MapNode {
		return child.Key
	}
	if name := child.StringAt("name"); name != "" {
		return name
	}
	return strconv.Itoa(i)
}

// SpellPath writes a path of keys as people write and read it: `spec.hard["requests.cpu"]`. A key is in brackets and quotes where it would be
// taken for several otherwise, or would be torn apart in a sentence: where it is empty, or holds a dot, a bracket, a quote or a space.
func SpellPath(path []string) string {
	var b strings.Builder
	for i, key := range path {
		switch {
		case key == "" || strings.ContainsAny(key, ` .[]"'`):
			b.WriteString(`["` + key + `"]`)
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// Leaves calls visit for every leaf with its path and its origin, which is that of the nearest container where it has none.
func (n *Node) Leaves(rule *origin.Origin, visit func(path []string, leaf *Node, from *origin.Origin)) {
	n.visitLeaves(nil, rule, visit)
}

func (n *Node) visitLeaves(path []string, from *origin.Origin, visit func([]string, *Node, *origin.Origin)) {
	if n.From != nil {
		from = n.From
	}
	if n.Leaf() {
		visit(path, n, from)
		return
	}
	for i := range n.Children {
		n.Children[i].visitLeaves(append(path, n.Segment(i)), from, visit)
	}
}

// Value returns the node as JSON has it: map[string]any, []any, string, json.Number, bool or nil.
func (n *Node) Value() any {
	switch n.Kind {
	case MapNode:
		values := make(map[string]any, len(n.Children))
		for i := range n.Children {
			values[n.Children[i].Key] = n.Children[i].Value()
		}
		return values
	case ListNode:
		values := make([]any, len(n.Children))
		for i := range n.Children {
			values[i] = n.Children[i].Value()
		}
		return values
	case TextNode:
		return n.Text
	case NumberNode:
		return json.Number(n.Text)
	case BoolNode:
		return n.Text == "true"
	}
	return nil
}

// FromValue returns a JSON value as a node: maps, slices, strings, json.Number, whole and floating numbers, booleans and nil.
func FromValue(key string, value any, from *origin.Origin) Node {
	switch value := value.(type) {
	case map[string]any:
		children := make([]Node, 0, len(value))
		for name, child := range value {
			children = append(children, FromValue(name, child, nil))
		}
		return Node{Key: key, Kind: MapNode, Children: sortByKey(children), From: from}
	case []any:
		items := make([]Node, len(value))
		for i, item := range value {
			items[i] = FromValue("", item, nil)
		}
		return Node{Key: key, Kind: ListNode, Children: items, From: from}
	case string:
		return Text(key, value, from)
	case bool:
		return Bool(key, value, from)
	case nil:
		return Node{Key: key, Kind: NullNode, From: from}
	}
	return Node{Key: key, Kind: NumberNode, Text: fmt.Sprint(value), From: from}
}

// dropNothingNodes drops what is nothing, in place.
func dropNothingNodes(nodes []Node) []Node {
	for i := range nodes {
		if nodes[i].Kind == Nothing {
			return slices.DeleteFunc(nodes, func(n Node) bool { return n.Kind == Nothing })
		}
	}
	return nodes
}

// sortByKey sorts children by key, in place. Most are in order already.
func sortByKey(nodes []Node) []Node {
	for i := 1; i < len(nodes); i++ {
		if nodes[i-1].Key > nodes[i].Key {
			slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Key, b.Key) })
			return nodes
		}
	}
	return nodes
}
