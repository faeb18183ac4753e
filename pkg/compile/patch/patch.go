// Package patch adds to a cluster what the compiler does not lower itself. Today that is one thing: components, which are Helm
// charts of the repository.
//
// A chart is read from the same fs.FS as the specs and given to a renderer (package chart), which knows Helm. Each distinct rendering
// happens once, however many clusters share it. What comes back is read as objects, whose origin is the file of the chart.
package patch

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Components are the components of some clusters, rendered.
type Components struct {
	rendered map[string][]object.Node
	// defaults are the files with the values that charts have by themselves.
	defaults map[string]source.Span
}

// RenderComponents renders the components of clusters, and reports those that cannot be.
func RenderComponents(root fs.FS, renderer chart.Renderer, clusters []*plan.Cluster, list *diag.List) Components {
	c := Components{rendered: map[string][]object.Node{}, defaults: map[string]source.Span{}}
	var readings []chartReader
	var charts []chart.Chart
	told := map[string]*chartMistake{}
	for _, p := range clusters {
		for i := range p.Components {
			r := chartReader{root: root, component: &p.Components[i], list: list, told: told}
			key := cacheKey(r.component, p.Version.V)
			if _, known := c.rendered[key]; known {
				continue
			}
			c.rendered[key] = nil
			if r.content = r.readFiles(); len(r.content) > 0 {
				readings, charts = append(readings, r), append(charts, r.renderInput(r.content, p.Version.V))
				c.defaults[r.component.Chart.V] = source.WholeFile(r.chartFile("values.yaml"))
			}
		}
	}
	if len(charts) == 0 {
		return c
	}
	if renderer == nil {
		renderer = noRenderer{}
	}
	for i, rendered := range renderer.Render(charts) {
		c.rendered[cacheKey(readings[i].component, charts[i].Kubernetes)] = readings[i].readObjects(rendered)
		if rendered.Failed == "" {
			readings[i].warnUnreadValues()
		}
	}
	return c
}

// noRenderer is the renderer of a program that has none.
type noRenderer struct{}

func (noRenderer) Render(charts []chart.Chart) []chart.Rendered {
	rendered := make([]chart.Rendered, len(charts))
	for i := range rendered {
		rendered[i].Failed = "this program renders no charts"
	}
	return rendered
}

// ObjectsOf returns the objects of a component of a cluster, sorted.
func (c Components) ObjectsOf(p *plan.Cluster, component *plan.Component) []object.Object {
	place := object.Place{Folder: lower.PlatformFolder, File: component.Release.V, Origin: component.Chart.At}
	sources := slices.Clone(component.Sources)
	if at := c.defaults[component.Chart.V]; !at.IsZero() && len(at.File.Data) > 0 {
		sources = append(sources, at)
	}
	rule := &origin.Origin{Kind: origin.Rendered, At: component.Chart.At, Also: sources, Why: "rendered from the chart"}
	var objects []object.Object
	for _, root := range c.rendered[cacheKey(component, p.Version.V)] {
		objects = append(objects, object.New(root, place, rule))
	}
	object.Sort(objects)
	return objects
}

// clusterValuesText says which values a component has from its cluster.
func clusterValuesText(component *plan.Component) string {
	var values []string
	for _, value := range component.Injected {
		if value.Alternative == nil {
			values = append(values, fmt.Sprintf("`%s: %s` (%s)", value.Name, plan.FormatValue(value.V), value.Why))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return ", with " + strings.Join(values, ", ")
}

// cacheKey is all that a rendering depends on, and what is said about it. Values are JSON by construction, so encoding them cannot fail.
func cacheKey(component *plan.Component, version string) string {
	key, _ := json.Marshal([]any{component.Chart.V, component.Release.V, component.Namespace.V, version, chart.Values(component.Values), clusterValuesText(component)})
	return string(key)
}
