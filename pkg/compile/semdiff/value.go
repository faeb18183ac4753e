package semdiff

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// mostShown is how many characters of a value are shown.
const mostShown = 80

// value is a value as people read it.
func value(n *object.Node) string {
	var b strings.Builder
	write(&b, n)
	if text := []rune(b.String()); len(text) > mostShown {
		return string(text[:mostShown-1]) + "…"
	}
	return b.String()
}

func write(b *strings.Builder, n *object.Node) {
	switch {
	case n == nil:
		b.WriteString("nothing")
	case b.Len() > 4*mostShown:
	case n.Kind == object.NullNode:
		b.WriteString("null")
	case n.Kind == object.MapNode:
		writeAll(b, n, "{", "}")
	case n.Kind == object.ListNode:
		writeAll(b, n, "[", "]")
	case n.Text == "":
		b.WriteString(`""`)
	default:
		b.WriteString(strings.Join(strings.Fields(n.Text), " "))
	}
}

func writeAll(b *strings.Builder, n *object.Node, opening, closing string) {
	b.WriteString(opening)
	for i := range n.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		if key := n.Children[i].Key; key != "" && n.Kind == object.MapNode {
			b.WriteString(key + ": ")
		}
		write(b, &n.Children[i])
	}
	b.WriteString(closing)
}
