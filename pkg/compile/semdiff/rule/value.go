package rule

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// maxShown is how many characters of a value are shown.
const maxShown = 80

// value is a value as people read it.
func value(n *object.Node) string {
	var b strings.Builder
	write(&b, n)
	return short([]rune(b.String()))
}

// values are two values as people read them, where both are long without what they begin with alike: the difference is to be seen.
func values(was, is *object.Node) (before, after string) {
	var a, b strings.Builder
	write(&a, was)
	write(&b, is)
	old, later := []rune(a.String()), []rune(b.String())
	if len(old) <= maxShown && len(later) <= maxShown {
		return value(was), value(is)
	}
	alike := 0
	for alike < min(len(old), len(later)) && old[alike] == later[alike] {
		alike++
	}
	if alike <= maxShown/2 {
		return value(was), value(is)
	}
	from := alike - maxShown/4
	return "…" + short(old[from:]), "…" + short(later[from:])
}

func short(text []rune) string {
	if len(text) > maxShown {
		return string(text[:maxShown-1]) + "…"
	}
	return string(text)
}

func write(b *strings.Builder, n *object.Node) {
	switch {
	case n == nil:
		b.WriteString("nothing")
	case b.Len() > 40*maxShown:
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
