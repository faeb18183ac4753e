package overlay

import (
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// originCarrier gives the values of a patched object their origins: those that are as before keep theirs.
type originCarrier struct {
	step    *step
	changed bool
	// cut is where the step first took something away.
	cut               source.Span
	written, replaced placeCounts
}

// pathSegment is a part of a path: a key, or an item of a list by its name or text and by its index.
type pathSegment struct {
	name  string
	index int
}

// carryOrigins walks two values at one path, of which the old one has an origin.
func (c *originCarrier) carryOrigins(old *object.Node, from *origin.Origin, fresh *object.Node, path []pathSegment) {
	if old.From != nil {
		from = old.From
	}
	fresh.From = old.From
	switch {
	case sameInMemory(old.Children, fresh.Children) && old.Kind == fresh.Kind && old.Text == fresh.Text:
	case old.Kind != fresh.Kind || old.Text != fresh.Text:
		c.markAdded(fresh, path)
		over := fresh.From.Overriding(valueInOneLine(old), from)
		fresh.From = &over
		if from != nil && from.Kind == origin.Patched {
			c.replaced[from.At]++
		}
	case fresh.Kind == object.MapNode:
		c.carryEntries(old, from, fresh, path)
	case fresh.Kind == object.ListNode:
		c.carryItems(old, from, fresh, path)
	}
}

func (c *originCarrier) carryEntries(old *object.Node, from *origin.Origin, fresh *object.Node, path []pathSegment) {
	left := old.Children // entries are sorted by key
	for i := range fresh.Children {
		child := &fresh.Children[i]
		for len(left) > 0 && left[0].Key < child.Key {
			c.noteRemoved(append(slices.Clone(path), pathSegment{name: left[0].Key, index: -1}))
			left = left[1:]
		}
		var before *object.Node
		if len(left) > 0 && left[0].Key == child.Key {
			before, left = &left[0], left[1:]
		}
		if before != nil && before.Kind == child.Kind && before.Text == child.Text && sameInMemory(before.Children, child.Children) {
			child.From = before.From
			continue
		}
		below := append(slices.Clone(path), pathSegment{name: child.Key, index: -1})
		if before != nil {
			c.carryOrigins(before, from, child, below)
			continue
		}
		c.markAdded(child, below)
	}
	for i := range left {
		c.noteRemoved(append(slices.Clone(path), pathSegment{name: left[i].Key, index: -1}))
	}
}

// sameInMemory reports whether two values have the same children in memory: nobody changed them.
func sameInMemory(a, b []object.Node) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// noteRemoved notes that something at a path was taken away.
func (c *originCarrier) noteRemoved(path []pathSegment) {
	c.changed = true
	if c.cut.IsZero() {
		c.cut = c.step.placeOf(path)
	}
}

// carryItems pairs the items of two lists: by name, text or else index.
func (c *originCarrier) carryItems(old *object.Node, from *origin.Origin, fresh *object.Node, path []pathSegment) {
	used := make([]bool, len(old.Children))
	for i := range fresh.Children {
		child := &fresh.Children[i]
		below := append(slices.Clone(path), pathSegment{name: fresh.Segment(i), index: i})
		if child.Kind == object.TextNode {
			below[len(path)].name = child.Text
		}
		j := matchingItem(old, fresh, i, used)
		if j < 0 {
			c.markAdded(child, below)
			continue
		}
		used[j] = true
		c.changed = c.changed || i != j
		c.carryOrigins(&old.Children[j], from, child, below)
	}
	for j, kept := range used {
		if !kept {
			c.noteRemoved(append(slices.Clone(path), pathSegment{name: old.Segment(j), index: j}))
		}
	}
}

func matchingItem(old, fresh *object.Node, i int, used []bool) int {
	child := &fresh.Children[i]
	named := child.Get("name") != nil
	for j := range old.Children {
		before := &old.Children[j]
		same := named && before.Get("name") != nil && old.Segment(j) == fresh.Segment(i) || !named && child.Leaf() && before.Kind == child.Kind && before.Text == child.Text
		if same && !used[j] {
			return j
		}
	}
	if !named && i < len(old.Children) && !used[i] && old.Children[i].Kind == child.Kind {
		return i
	}
	return -1
}

// markAdded gives a value that was not there the place of the patch.
func (c *originCarrier) markAdded(fresh *object.Node, path []pathSegment) {
	c.changed = true
	fresh.From = &origin.Origin{Kind: origin.Patched, At: c.step.placeOf(path), Why: c.step.what}
	c.written[fresh.From.At]++
	for i := range fresh.Children {
		index := -1
		if fresh.Kind == object.ListNode {
			index = i
		}
		c.markAdded(&fresh.Children[i], append(slices.Clone(path), pathSegment{name: fresh.Segment(i), index: index}))
	}
}

// valueInOneLine is a value in one line.
func valueInOneLine(n *object.Node) string {
	switch n.Kind {
	case object.MapNode:
		return "a mapping of " + strconv.Itoa(len(n.Children))
	case object.ListNode:
		return "a list of " + strconv.Itoa(len(n.Children))
	case object.NullNode:
		return "null"
	}
	return n.Text
}

// placeOf is where the patch writes a value, or as near as can be told.
func (s *step) placeOf(path []pathSegment) source.Span {
	switch {
	case s.function != nil:
		return s.function.placeOf(path)
	case s.patch.Kind == object.MapNode:
		return deepestPlace(&s.patch, path, s.at)
	case s.patch.Kind == object.ListNode:
		return s.operationPlace(path)
	}
	return s.at
}

// deepestPlace follows a path into a value of the patch.
func deepestPlace(n *object.Node, path []pathSegment, at source.Span) source.Span {
	if n.From != nil {
		at = n.From.At
	}
	if len(path) == 0 {
		return at
	}
	for i := range n.Children {
		child := &n.Children[i]
		matches := n.Segment(i) == path[0].name || child.Kind == object.TextNode && n.Kind == object.ListNode && child.Text == path[0].name
		if matches {
			return deepestPlace(child, path[1:], at)
		}
	}
	return at
}

// operationPlace returns the place in the operation of a JSON patch whose path is the longest that leads to a value.
func (s *step) operationPlace(path []pathSegment) source.Span {
	at, longest := s.at, -1
	for i := range s.patch.Children {
		operation := &s.patch.Children[i]
		pointer := operation.Get("path")
		if pointer == nil {
			continue
		}
		if n := pointerDepth(pointer.Text, path); n > longest {
			at, longest = pointer.From.At, n
			if value := operation.Get("value"); value != nil {
				at = deepestPlace(value, path[n:], at)
			}
		}
	}
	return at
}

var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

// pointerDepth returns how many segments of a path a JSON pointer has, or -1 if it leads elsewhere.
func pointerDepth(pointer string, path []pathSegment) int {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if len(tokens) > len(path) {
		return -1
	}
	for i, token := range tokens {
		inList := path[i].index >= 0 && (token == "-" || token == strconv.Itoa(path[i].index))
		if !inList && unescape.Replace(token) != path[i].name {
			return -1
		}
	}
	return len(tokens)
}
