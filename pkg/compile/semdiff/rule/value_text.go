package rule

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// maxShown is how many characters of a value are shown.
const maxShown = 80

// valueText is a value as people read it.
func valueText(n *object.Node) string {
	var b strings.Builder
	writeValue(&b, n)
	return shortenText([]rune(b.String()))
}

// valueTexts are two values as people read them, where both are long without what they begin with alike: the difference is to be seen.
func valueTexts(was, is *object.Node) (before, after string) {
	var a, b strings.Builder
	writeValue(&a, was)
	writeValue(&b, is)
	old, later := []rune(a.String()), []rune(b.String())
	if len(old) <= maxShown && len(later) <= maxShown {
		return valueText(was), valueText(is)
	}
	alike := 0
	for alike < min(len(old), len(later)) && old[alike] == later[alike] {
		alike++
	}
	if alike <= maxShown/2 {
		return valueText(was), valueText(is)
	}
	from := alike - maxShown/4
	return "…" + shortenText(old[from:]), "…" + shortenText(later[from:])
}

func shortenText(text []rune) string {
	if len(text) > maxShown {
		return string(text[:maxShown-1]) + "…"
	}
	return string(text)
}

func writeValue(b *strings.Builder, n *object.Node) {
	switch {
	case n == nil:
		b.WriteString("nothing")
	case b.Len() > 40*maxShown:
	case n.Kind == object.NullNode:
		b.WriteString("null")
	case n.Kind == object.MapNode:
		writeChildren(b, n, "{", "}")
	case n.Kind == object.ListNode:
		writeChildren(b, n, "[", "]")
	case n.Text == "":
		b.WriteString(`""`)
	default:
		b.WriteString(strings.Join(strings.Fields(n.Text), " "))
	}
}

func writeChildren(b *strings.Builder, n *object.Node, opening, closing string) {
	b.WriteString(opening)
	for i := range n.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		if key := n.Children[i].Key; key != "" && n.Kind == object.MapNode {
			b.WriteString(key + ": ")
		}
		writeValue(b, &n.Children[i])
	}
	b.WriteString(closing)
}
