// Package dashboards draws the dashboards of mixin as pictures, without Grafana: a real Prometheus that knows a simulated day answers the query of
// each panel, and gonum's plot draws the answers where the dashboard has the panel. It shows what is asked and answered. It does not know all that
// a panel of Grafana can do, only what ours use.
package dashboards

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

type board struct {
	Title      string
	Time       struct{ From string }
	Templating struct {
		List []struct{ Name, AllValue string }
	}
	Panels []panel
}

type panel struct {
	Title, Type string
	GridPos     struct{ H, W, X, Y int }
	FieldConfig struct {
		Defaults struct {
			Unit     string
			Decimals *int
			Min, Max *float64
			Custom   struct {
				Stacking          struct{ Mode string }
				ScaleDistribution struct{ Type string }
			}
		}
	}
	Options struct {
		TextMode string
		Legend   struct{ Calcs []string }
	}
	Targets         []target
	Transformations []struct {
		Options struct{ IndexByName map[string]int }
	}
}

type target struct {
	Expr, LegendFormat string
	Instant            bool
}

// answer is a series that a panel shows.
type answer struct {
	name   string // in the legend
	labels model.Metric
	points []model.SamplePair
}

// step is between two points of a line; the simulated day has no more.
const step = 2 * time.Minute

func readBoard(path string) (b board, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(text, &b)
}

// begins is where the dashboard begins when somebody opens it.
func (b board) begins(now time.Time) (time.Time, error) {
	span, err := time.ParseDuration(strings.TrimPrefix(b.Time.From, "now-"))
	return now.Add(-span), err
}

// variables replaces the dashboard's variables: by all where it offers that, otherwise by what somebody chose.
func (b board) variables(chosen map[string]string) *strings.Replacer {
	var pairs []string
	for _, v := range b.Templating.List {
		pairs = append(pairs, "$"+v.Name, cmp.Or(v.AllValue, chosen[v.Name]))
	}
	return strings.NewReplacer(pairs...)
}

// ask runs the queries of a panel. As in Grafana, one that is not instant is asked for the whole time, also where only a last value is shown.
func (p panel) ask(ctx context.Context, server prometheus.API, variables *strings.Replacer, from, to time.Time) ([]answer, error) {
	var all []answer
	for _, t := range p.Targets {
		value, err := t.ask(ctx, server, variables.Replace(t.Expr), from, to)
		if err != nil {
			return nil, fmt.Errorf("query of panel %s: %w", p.Title, err)
		}
		for _, stream := range value {
			// A quantile of nothing is not a number.
			if points := slices.DeleteFunc(stream.Values, func(p model.SamplePair) bool { return math.IsNaN(float64(p.Value)) }); len(points) > 0 {
				all = append(all, answer{t.legend(stream.Metric), stream.Metric, points})
			}
		}
	}
	return all, nil
}

func (t target) ask(ctx context.Context, server prometheus.API, expr string, from, to time.Time) (answers model.Matrix, err error) {
	if !t.Instant {
		value, _, _, err := server.QueryRange(ctx, expr, prometheus.Range{Start: from, End: to, Step: step})
		if err != nil {
			return nil, err
		}
		return value.(model.Matrix), nil
	}
	value, _, _, err := server.Query(ctx, expr, to)
	if err != nil {
		return nil, err
	}
	for _, sample := range value.(model.Vector) {
		answers = append(answers, &model.SampleStream{Metric: sample.Metric, Values: []model.SamplePair{{Timestamp: sample.Timestamp, Value: sample.Value}}})
	}
	return answers, nil
}

var placeholder = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

func (t target) legend(labels model.Metric) string {
	return strings.TrimSpace(placeholder.ReplaceAllStringFunc(t.LegendFormat, func(found string) string {
		return string(labels[model.LabelName(placeholder.FindStringSubmatch(found)[1])])
	}))
}

func (a answer) last() float64 { return float64(a.points[len(a.points)-1].Value) }

func (a answer) most() float64 {
	most := a.last()
	for _, point := range a.points {
		most = max(most, float64(point.Value))
	}
	return most
}

// lives are the parts of a series between which points are missing.
func (a answer) lives() (parts [][]model.SamplePair) {
	for i, point := range a.points {
		if i == 0 || point.Timestamp.Sub(a.points[i-1].Timestamp) > step {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], point)
	}
	return parts
}

// unit is how large values of a unit of Grafana are written.
type unit struct {
	divisor float64
	name    string
}

func unitOf(name string, most float64) unit {
	switch {
	case name == "s" && most >= 2*3600:
		return unit{3600, " h"}
	case name == "s" && most >= 2*60:
		return unit{60, " min"}
	}
	return map[string]unit{"s": {1, " s"}, "percent": {1, "%"}, "bytes": {1 << 30, " GiB"}, "mbytes": {1 << 10, " GiB"}, "Bps": {1e6, " MB/s"}, "short": {1, ""}}[name]
}

func (p panel) words(value float64) string {
	u := unitOf(p.FieldConfig.Defaults.Unit, value)
	if p.FieldConfig.Defaults.Decimals != nil {
		return fmt.Sprintf("%.*f%s", *p.FieldConfig.Defaults.Decimals, value/u.divisor, u.name)
	}
	return fmt.Sprintf("%.3g%s", value/u.divisor, u.name)
}
