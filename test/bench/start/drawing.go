package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// The drawing's measures, in SVG units.
const (
	barLeft, barWidth   = 230, 640
	barHeight, barPitch = 18, 28
	headHeight          = 52
)

// colours of the timings, in their order; told apart without red and green.
var colours = []string{"#4e79a7", "#76b7b2", "#edc948", "#b07aa1", "#f28e2b"}

// Drawing is one bar per series as SVG: where the time to the first rank goes, medians.
func (r Report) Drawing() string {
	type bar struct {
		label string
		Series
	}
	var bars []bar
	for _, s := range r.Lockstep.Series {
		bars = append(bars, bar{fmt.Sprintf("lockstep %s, %d, %s", s.Runtime, s.Nodes, s.Names), s})
	}
	for _, s := range r.Stock.Series {
		bars = append(bars, bar{fmt.Sprintf("stock %s, %d, %s", s.Runtime, s.Nodes, s.Names), s})
	}
	bars = slices.DeleteFunc(bars, func(b bar) bool { return len(b.Timings) == 0 })
	longest := 1.0
	for _, b := range bars {
		longest = max(longest, b.Timings[len(b.Timings)-1].Seconds)
	}
	var svg strings.Builder
	height := headHeight + len(bars)*barPitch + 10
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="%d" font-family="sans-serif" font-size="12">`+"\n", height)
	svg.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	svg.WriteString(`<text x="10" y="18" font-size="14">Seconds from the TrainJob to its first rank (medians)</text>` + "\n")
	if len(bars) > 0 {
		legend(&svg, bars[0].Timings)
	}
	for i, b := range bars {
		y := headHeight + i*barPitch
		fmt.Fprintf(&svg, `<text x="10" y="%d">%s</text>`+"\n", y+13, html.EscapeString(b.label))
		segments(&svg, b.Timings, y, barWidth/longest)
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

func legend(svg *strings.Builder, timings []Timing) {
	for i, timing := range timings {
		x := barLeft + i*125
		fmt.Fprintf(svg, `<rect x="%d" y="28" width="12" height="12" fill="%s"/><text x="%d" y="38">%s</text>`+"\n", x, colours[i], x+16, timing.Name)
	}
}

// segments draws each timing from the end of the one before. News of a state may come after the next one.
func segments(svg *strings.Builder, timings []Timing, y int, scale float64) {
	from := 0.0
	for i, timing := range timings {
		to := max(from, min(timing.Seconds, timings[len(timings)-1].Seconds))
		fmt.Fprintf(svg, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", barLeft+from*scale, y, (to-from)*scale, barHeight, colours[i])
		from = to
	}
	fmt.Fprintf(svg, `<text x="%.1f" y="%d">%.2f s</text>`+"\n", barLeft+from*scale+5, y+13, from)
}
