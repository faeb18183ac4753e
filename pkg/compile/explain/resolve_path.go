package explain

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// ResolveIn returns the path as an object spells it, in which an item of a list may be asked for by its name, its index or `name=x`. Where the
// object has no such value, found is how far the path leads, and below are the keys or items there.
func (p Path) ResolveIn(root *object.Node) (found Path, below []string, ok bool) {
	at := root
	for _, key := range p {
		i := childIndex(at, key)
		if i < 0 {
			return found, childSegments(at), false
		}
		found = append(found, at.Segment(i))
		at = &at.Children[i]
	}
	return found, nil, true
}

// childIndex returns the number of the child that is meant, or -1.
func childIndex(n *object.Node, key string) int {
	for i := range n.Children {
		if n.Segment(i) == key {
			return i
		}
	}
	if n.Kind != object.ListNode {
		return -1
	}
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Children) {
		return i
	}
	if name, is := strings.CutPrefix(key, "name="); is {
		return childIndex(n, strings.Trim(name, `"'`))
	}
	return -1
}

func childSegments(n *object.Node) []string {
	all := make([]string, len(n.Children))
	for i := range n.Children {
		all[i] = n.Segment(i)
	}
	return all
}
