package graph

import (
	"fmt"
	"strings"
)

// DOT returns the drawing in the language of Graphviz.
func (d Drawing) DOT() string {
	var b strings.Builder
	b.WriteString("digraph lockstep {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	writeFrames(&b, "spec", d.Specs, "lightyellow")
	writeFrames(&b, "object", d.Objects, "lightblue")
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "  spec%d -> object%d;\n", e.Spec, e.Object)
	}
	b.WriteString("}\n")
	return b.String()
}

// writeFrames writes nodes with a frame around those of a group. Nodes of a group follow each other.
func writeFrames(b *strings.Builder, prefix string, nodes []Node, colour string) {
	for i, n := range nodes {
		if i == 0 || nodes[i-1].Group != n.Group {
			fmt.Fprintf(b, "  subgraph \"cluster_%s%d\" {\n    label=%s;\n", prefix, i, quoteDOT(n.Group))
		}
		fmt.Fprintf(b, "    %s%d [label=%s, style=filled, fillcolor=%s];\n", prefix, i, quoteDOT(n.labelWithCount()), colour)
		if i == len(nodes)-1 || nodes[i+1].Group != n.Group {
			b.WriteString("  }\n")
		}
	}
}

func quoteDOT(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
