package graph

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The measures of the picture, in pixels.
const (
	boxHeight  = 22
	boxGap     = 6
	groupGap   = 16
	titleRoom  = 22
	margin     = 20
	columnGap  = 260
	charWidth  = 8
	boxPadding = 16
)

// placedNode is a node with its place.
type placedNode struct {
	Node
	x, y, width int
}

// SVG returns the drawing as a picture: specs on the left, objects on the right, a line for every feed. Nothing in it is loaded
// from elsewhere.
func (d Drawing) SVG() string {
	specs, left := placeColumn(d.Specs, margin)
	objects, right := placeColumn(d.Objects, margin+columnWidth(d.Specs)+columnGap)
	total := margin*2 + columnWidth(d.Specs) + columnGap + columnWidth(d.Objects)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", total, max(left, right)+margin)
	b.WriteString("<title>Which specs feed which compiled objects</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n")
	for _, e := range d.Edges {
		writeEdge(&b, specs[e.Spec], objects[e.Object])
	}
	writeBoxes(&b, specs, "#fff7d6")
	writeBoxes(&b, objects, "#d9ecff")
	b.WriteString("</svg>\n")
	return b.String()
}

// placeColumn places nodes below each other and returns where the column ends.
func placeColumn(nodes []Node, x int) ([]placedNode, int) {
	y := margin
	result := make([]placedNode, len(nodes))
	for i, n := range nodes {
		if i == 0 || nodes[i-1].Group != n.Group {
			y += titleRoom
			if i > 0 {
				y += groupGap
			}
		}
		result[i] = placedNode{Node: n, x: x, y: y, width: columnWidth(nodes)}
		y += boxHeight + boxGap
	}
	return result, y
}

// columnWidth is that of the widest text in a column.
func columnWidth(nodes []Node) int {
	widest := 0
	for _, n := range nodes {
		widest = max(widest, utf8.RuneCountInString(n.labelWithCount()), utf8.RuneCountInString(n.Group))
	}
	return widest*charWidth + boxPadding
}

func writeEdge(b *strings.Builder, from, to placedNode) {
	x1, y1, x2, y2 := from.x+from.width, from.y+boxHeight/2, to.x, to.y+boxHeight/2
	middle := (x1 + x2) / 2
	fmt.Fprintf(b, `<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#8899aa" stroke-opacity="0.6"><title>%s → %s</title></path>`+"\n",
		x1, y1, middle, y1, middle, y2, x2, y2, html.EscapeString(from.Group+"/"+from.labelWithCount()), html.EscapeString(to.Group+"/"+to.labelWithCount()))
}

func writeBoxes(b *strings.Builder, nodes []placedNode, colour string) {
	for i, n := range nodes {
		if i == 0 || nodes[i-1].Group != n.Group {
			fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", n.x, n.y-7, html.EscapeString(n.Group))
		}
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="%s" stroke="#556677"/>`, n.x, n.y, n.width, boxHeight, colour)
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", n.x+boxPadding/2, n.y+boxHeight-6, html.EscapeString(n.labelWithCount()))
	}
}
