package schema

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

func (c *check) items(n *object.Node, s *shapeNode) {
	if s.Items != nil {
		for i := range n.Children {
			c.value(&n.Children[i], *s.Items)
			if n.Children[i].Kind == object.NullNode {
				c.rememberNull(&n.Children[i], &c.table.Shapes[*s.Items], true)
			}
		}
	}
	c.lengthInBounds(n, len(n.Children), s.MinItems, s.MaxItems, "items")
	if s.Unique && len(n.Children) > 1 && len(c.problems) == 0 {
		c.duplicates(n, s)
	}
}

// few is how many items are compared in pairs. Longer lists are compared through a map.
const few = 16

// duplicates checks that no two items of a list are the same: in their values, or in the values of the keys.
func (c *check) duplicates(n *object.Node, s *shapeNode) {
	if len(n.Children) > few {
		c.manyDuplicates(n, s)
		return
	}
	for i := 1; i < len(n.Children); i++ {
		for j := range i {
			if c.sameItem(&n.Children[i], &n.Children[j], s) {
				c.duplicate(n, i, s)
				break
			}
		}
	}
}

func (c *check) manyDuplicates(n *object.Node, s *shapeNode) {
	seen := make(map[string]bool, len(n.Children))
	for i := range n.Children {
		identity := c.itemIdentity(&n.Children[i], s)
		if seen[identity] {
			c.duplicate(n, i, s)
		}
		seen[identity] = true
	}
}

func (c *check) duplicate(n *object.Node, i int, s *shapeNode) {
	if len(s.Keys) == 0 {
		c.refuse(&n.Children[i], "", "an item before it is the same, all must differ")
		return
	}
	c.refuse(&n.Children[i], "", "an item before it has the same %s, all must differ in it", strings.Join(s.Keys, " and "))
}

func (c *check) sameItem(a, b *object.Node, s *shapeNode) bool {
	if len(s.Keys) == 0 {
		return equalNodes(a, b)
	}
	for _, key := range s.Keys {
		if !equalNodes(c.valueOrDefault(a, key, s), c.valueOrDefault(b, key, s)) {
			return false
		}
	}
	return true
}

// valueOrDefault returns the value of a key, which may be a default.
func (c *check) valueOrDefault(item *object.Node, key string, s *shapeNode) *object.Node {
	if value := item.Get(key); value != nil {
		return value
	}
	at, known := c.table.Shapes[*s.Items].Properties[key]
	if !known || c.table.Shapes[at].Default == nil {
		return nil
	}
	value := object.FromValue("", c.table.Shapes[at].Default, nil)
	return &value
}

// itemIdentity returns a text that is the same for items that are the same.
func (c *check) itemIdentity(item *object.Node, s *shapeNode) string {
	var text strings.Builder
	if len(s.Keys) == 0 {
		writeIdentity(&text, item)
	}
	for _, key := range s.Keys {
		writeIdentity(&text, c.valueOrDefault(item, key, s))
	}
	return text.String()
}

func writeIdentity(text *strings.Builder, n *object.Node) {
	text.WriteByte(0)
	if n == nil {
		return
	}
	text.WriteByte(byte(n.Kind))
	text.WriteString(n.Text)
	for i := range n.Children {
		text.WriteByte(1)
		text.WriteString(n.Children[i].Key)
		writeIdentity(text, &n.Children[i])
	}
	text.WriteByte(2)
}

func equalNodes(a, b *object.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Children) != len(b.Children) {
		return false
	}
	for i := range a.Children {
		if a.Children[i].Key != b.Children[i].Key || !equalNodes(&a.Children[i], &b.Children[i]) {
			return false
		}
	}
	return true
}
