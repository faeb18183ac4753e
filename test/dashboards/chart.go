package dashboards

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lines draws what Grafana calls timeseries. Stacked areas are steps.
func (p picture) lines(area draw.Canvas, panel panel, answers []answer) {
	custom := panel.FieldConfig.Defaults.Custom
	stacked := custom.Stacking.Mode == "normal"
	most := slices.MaxFunc(answers, func(a, b answer) int { return cmp.Compare(a.most(), b.most()) }).most()
	u := unitOf(panel.FieldConfig.Defaults.Unit, most)
	if custom.ScaleDistribution.Type == "log" {
		u = unitOf(panel.FieldConfig.Defaults.Unit, 0)
	}
	chart := p.chart(panel, u)
	below := map[model.Time]float64{}
	for i, a := range answers {
		hue := palette[i%len(palette)]
		for _, life := range a.lives() {
			var upper, lower plotter.XYs
			for _, point := range life {
				at, value := float64(point.Timestamp.Unix()), float64(point.Value)/u.divisor
				if !stacked {
					upper = append(upper, plotter.XY{X: at, Y: value})
					continue
				}
				lower = append(lower, plotter.XY{X: at, Y: below[point.Timestamp]}, plotter.XY{X: at + step.Seconds(), Y: below[point.Timestamp]})
				below[point.Timestamp] += value
				upper = append(upper, plotter.XY{X: at, Y: below[point.Timestamp]}, plotter.XY{X: at + step.Seconds(), Y: below[point.Timestamp]})
			}
			upper = thin(upper)
			if stacked {
				slices.Reverse(lower)
				chart.Add(&plotter.Polygon{XYs: []plotter.XYs{append(slices.Clone(upper), thin(lower)...)}, Color: color.NRGBA{hue.R, hue.G, hue.B, 0x66}})
			}
			chart.Add(&plotter.Line{XYs: upper, LineStyle: draw.LineStyle{Color: hue, Width: 1}})
		}
	}
	chart.X.Max = float64(p.to.Unix())
	chart.Draw(area)
}

// chart has the axes of a panel.
func (p picture) chart(panel panel, u unit) *plot.Plot {
	chart, shown := plot.New(), panel.FieldConfig.Defaults
	chart.X.Min, chart.X.Max = float64(p.from.Unix()), float64(p.to.Unix())
	if shown.Min != nil {
		chart.Y.Min = *shown.Min
	}
	if shown.Max != nil {
		chart.Y.Max = *shown.Max
	}
	chart.X.Tick.Marker = plot.TickerFunc(func(from, to float64) (ticks []plot.Tick) {
		for at := from; at <= to; at += time.Hour.Seconds() {
			ticks = append(ticks, plot.Tick{Value: at, Label: time.Unix(int64(at), 0).UTC().Format("15:04")})
		}
		return ticks
	})
	chart.Y.Tick.Marker = plot.TickerFunc(func(from, to float64) (ticks []plot.Tick) {
		for _, tick := range (plot.DefaultTicks{}).Ticks(from, to) {
			if whole := tick.Value == math.Trunc(tick.Value); !tick.IsMinor() && (whole || shown.Decimals == nil) {
				ticks = append(ticks, plot.Tick{Value: tick.Value, Label: fmt.Sprintf("%.4g%s", tick.Value, u.name)})
			}
		}
		return ticks
	})
	if shown.Custom.ScaleDistribution.Type == "log" {
		chart.Y.Scale = plot.LogScale{}
		chart.Y.Tick.Marker = plot.TickerFunc(func(from, to float64) (ticks []plot.Tick) {
			for power := math.Ceil(math.Log10(from)); power <= math.Log10(to); power++ {
				ticks = append(ticks, plot.Tick{Value: math.Pow(10, power), Label: fmt.Sprint(math.Pow(10, power)) + u.name})
			}
			return ticks
		})
	}
	for _, axis := range []*plot.Axis{&chart.X, &chart.Y} {
		axis.Tick.Label.Font = face(small)
		axis.Color, axis.Tick.Color, axis.Tick.Label.Color = faint, faint, ink
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	chart.Add(grid)
	return chart
}

// thin leaves out points between equal ones.
func thin(points plotter.XYs) plotter.XYs {
	var kept plotter.XYs
	for i, point := range points {
		if i == 0 || i == len(points)-1 || point.Y != points[i-1].Y || point.Y != points[i+1].Y {
			kept = append(kept, point)
		}
	}
	return kept
}

// legend has the number of each series that the panel asks for.
func legend(area draw.Canvas, panel panel, answers []answer) {
	number, value := "last", answer.last
	if slices.Equal(panel.Options.Legend.Calcs, []string{"max"}) {
		number, value = "max", answer.most
	}
	y := area.Max.Y - 10
	right := func(words string) { write(area, area.Max.X-style(small).Width(words), y, small, words) }
	right(number)
	for i, a := range answers {
		y -= 13
		fill(area, vg.Rectangle{Min: vg.Point{X: area.Min.X, Y: y}, Max: vg.Point{X: area.Min.X + 7, Y: y + 7}}, palette[i%len(palette)])
		write(area, area.Min.X+12, y, small, a.name)
		right(panel.words(value(a)))
	}
}
