package dashboards

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The measures of a picture, and the sizes of letters.
const (
	column, row      = 44, 26 // of Grafana's grid, which has 24 columns
	heading, padding = 44, 6
	small, normal    = 9, 10.5
	huge             = 22
)

var (
	paper, ink, faint = color.Gray{0xff}, color.Gray{0x22}, color.Gray{0xd8}
	// palette is told apart without red and green.
	palette = []color.NRGBA{
		{0x4e, 0x79, 0xa7, 0xff}, {0xf2, 0x8e, 0x2b, 0xff}, {0x76, 0xb7, 0xb2, 0xff}, {0xb0, 0x7a, 0xa1, 0xff}, {0xed, 0xc9, 0x48, 0xff},
		{0x9c, 0x75, 0x5f, 0xff}, {0x1f, 0x3f, 0x66, 0xff}, {0xff, 0x9d, 0xa7, 0xff}, {0x8a, 0x8a, 0x8a, 0xff}, {0x2f, 0x7f, 0x79, 0xff},
	}
)

// picture is a dashboard with the answers to each of its panels.
type picture struct {
	board    board
	from, to time.Time
	answers  [][]answer
}

func (p picture) write(to io.Writer) error {
	rows := 0
	for _, panel := range p.board.Panels {
		rows = max(rows, panel.GridPos.Y+panel.GridPos.H)
	}
	canvas := vgsvg.New(24*column, vg.Length(rows*row+heading))
	page := draw.New(canvas)
	fill(page, page.Rectangle, paper)
	write(page, padding, page.Max.Y-18, 14, p.board.Title)
	write(page, padding, page.Max.Y-34, small, fmt.Sprintf("Simulated data, %s to %s. Drawn by the tests from the dashboard's queries, not by Grafana.",
		p.from.Format("2006-01-02 15:04"), p.to.Format("15:04 MST")))
	for i, panel := range p.board.Panels {
		g, top := panel.GridPos, page.Max.Y-heading
		area := page
		area.Min = vg.Point{X: vg.Length(g.X*column) + 2, Y: top - vg.Length((g.Y+g.H)*row) + 2}
		area.Max = vg.Point{X: vg.Length((g.X+g.W)*column) - 2, Y: top - vg.Length(g.Y*row) - 2}
		area.StrokeLines(draw.LineStyle{Color: faint, Width: 0.5}, corners(area.Rectangle))
		write(area, area.Min.X+padding, area.Max.Y-14, normal, panel.Title)
		p.panel(draw.Crop(area, padding, -padding, padding, -22), panel, p.answers[i])
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	// Who has no Liberation sees another font without serifs.
	_, err := to.Write(bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,sans-serif")))
	return err
}

func (p picture) panel(area draw.Canvas, panel panel, answers []answer) {
	switch {
	case len(answers) == 0:
		write(area, area.Min.X, area.Center().Y, normal, "no data")
	case panel.Type == "stat":
		stat(area, panel, answers)
	case panel.Type == "bargauge":
		bars(area, panel, answers)
	case panel.Type == "table":
		table(area, panel, answers)
	case panel.Type == "state-timeline":
		p.lives(area, answers)
	default:
		right := area.Size().X * 0.34
		legend(draw.Crop(area, area.Size().X-right+padding, 0, 0, 0), panel, answers)
		p.lines(draw.Crop(area, 0, -right, 0, 0), panel, answers)
	}
}

func stat(area draw.Canvas, panel panel, answers []answer) {
	for i, a := range answers {
		words := a.name
		if panel.Options.TextMode != "name" {
			words = panel.words(a.last())
		}
		write(area, area.Min.X, area.Max.Y-vg.Length(i+1)*huge*1.3, huge, words)
	}
}

// bars draws what Grafana calls bargauge.
func bars(area draw.Canvas, panel panel, answers []answer) {
	const name, value, pitch = 110, 40, 22
	most := slices.MaxFunc(answers, func(a, b answer) int { return cmp.Compare(a.last(), b.last()) }).last()
	for i, a := range answers {
		y := area.Max.Y - vg.Length(i+1)*pitch
		bar := vg.Rectangle{Min: vg.Point{X: area.Min.X + name, Y: y}}
		bar.Max = vg.Point{X: bar.Min.X + (area.Size().X-name-value)*vg.Length(a.last()/most), Y: y + pitch - 6}
		fill(area, bar, palette[0])
		write(area, area.Min.X, y+4, small, a.name)
		write(area, bar.Max.X+padding, y+4, small, panel.words(a.last()))
	}
}

// lives draws what Grafana calls state-timeline.
func (p picture) lives(area draw.Canvas, answers []answer) {
	const name, pitch = 80, 17
	left := area.Min.X + name
	x := func(at time.Time) vg.Length {
		return left + (area.Max.X-left)*vg.Length(min(1, float64(at.Sub(p.from))/float64(p.to.Sub(p.from))))
	}
	for i, a := range answers {
		y := area.Max.Y - vg.Length(i+1)*pitch
		write(area, area.Min.X, y+3, small, a.name)
		for _, life := range a.lives() {
			ends := life[len(life)-1].Timestamp.Time().Add(step)
			fill(area, vg.Rectangle{Min: vg.Point{X: x(life[0].Timestamp.Time()), Y: y}, Max: vg.Point{X: x(ends), Y: y + pitch - 4}}, palette[0])
		}
	}
	for at := p.from; at.Before(p.to); at = at.Add(time.Hour) {
		write(area, x(at), area.Min.Y, small, at.Format("15:04"))
	}
}

// table has a column for each label, in the order that the panel gives them.
func table(area draw.Canvas, panel panel, answers []answer) {
	all := model.Metric{}
	for _, a := range answers {
		maps.Copy(all, a.labels)
	}
	order := panel.Transformations[0].Options.IndexByName
	names := slices.SortedFunc(maps.Keys(all), func(a, b model.LabelName) int { return cmp.Compare(order[string(a)], order[string(b)]) })
	for i, name := range names {
		x := area.Min.X + area.Size().X*vg.Length(i)/vg.Length(len(names))
		write(area, x, area.Max.Y-12, normal, string(name))
		for k, a := range answers {
			write(area, x, area.Max.Y-vg.Length(k+2)*15, small, string(a.labels[name]))
		}
	}
}

func face(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func style(size vg.Length) text.Style {
	return text.Style{Color: ink, Font: face(size), Handler: plot.DefaultTextHandler}
}

func write(area draw.Canvas, x, y, size vg.Length, words string) {
	area.FillText(style(size), vg.Point{X: x, Y: y}, words)
}

func fill(area draw.Canvas, r vg.Rectangle, hue color.Color) { area.FillPolygon(hue, corners(r)) }

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min}
}
