// Package patch adds to a cluster what the compiler does not lower itself. Today that is one thing: components, which are Helm
// charts of the repository, rendered in process.
//
// A chart is read from the same fs.FS as the specs and rendered without a cluster, without hooks and without functions that
// give another result on another day. Each distinct rendering happens once, however many clusters share it. What is rendered has
// the file of the chart as its origin.
package patch

import (
	"encoding/json"
	"io/fs"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// Components renders components and remembers the results. It is not for use by several goroutines.
type Components struct {
	root     fs.FS
	rendered map[string][]object.Node
}

// NewComponents returns a renderer for charts below a root.
func NewComponents(root fs.FS) *Components {
	return &Components{root: root, rendered: map[string][]object.Node{}}
}

// Render returns the objects of a component of a cluster, sorted.
func (c *Components) Render(p *plan.Cluster, component *plan.Component, list *diag.List) []object.Object {
	place := object.Place{Folder: lower.PlatformFolder, File: component.Release.V, Origin: component.Chart.At}
	rule := &origin.Origin{Kind: origin.Rendered, At: component.Chart.At, Why: "rendered from the chart"}
	var objects []object.Object
	for _, root := range c.render(*component, p.Version.V, list) {
		objects = append(objects, object.New(root, place, rule))
	}
	object.Sort(objects)
	return objects
}

func (c *Components) render(component plan.Component, version string, list *diag.List) []object.Node {
	key := cacheKey(component, version)
	if roots, found := c.rendered[key]; found {
		return roots
	}
	r := rendering{root: c.root, component: component, version: version, list: list}
	roots := r.run()
	c.rendered[key] = roots
	return roots
}

// cacheKey is all that a rendering depends on. Values are JSON by construction, so encoding them cannot fail.
func cacheKey(component plan.Component, version string) string {
	key, _ := json.Marshal([]any{component.Chart.V, component.Release.V, component.Namespace.V, version, component.Values})
	return string(key)
}
