// Package patch adds to a cluster what the compiler does not lower itself. Today that is one thing: components, which are Helm
// charts of the repository, rendered in process.
//
// A chart is read from the same fs.FS as the specs and rendered without a cluster, without hooks and without functions that
// give another result on another day. Each distinct rendering happens once, however many clusters share it.
package patch

import (
	"encoding/json"
	"io/fs"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// Components renders components and remembers the results.
type Components struct {
	root     fs.FS
	rendered map[string][]map[string]any
}

// NewComponents returns a renderer for charts below a root.
func NewComponents(root fs.FS) *Components {
	return &Components{root: root, rendered: map[string][]map[string]any{}}
}

// AddTo renders the components of a plan and adds their objects to a set.
func (c *Components) AddTo(set *object.Set, p *plan.Cluster, list *diag.List) {
	for _, component := range p.Components {
		for _, content := range c.render(component, p.Version.V, list) {
			o := object.Object{Content: content, Folder: lower.PlatformFolder, File: component.Release.V, Origin: component.Chart.At}
			if taken, ok := set.Add(o); !ok {
				list.Errorf(diag.ObjectCollision, component.Chart.At, "the chart `%s` renders %s, which exists already", component.Chart.V, o.ID()).
					Also(taken.Origin, "compiled from here").Helpf("rename the object in the chart, or leave it out with values")
			}
		}
	}
}

func (c *Components) render(component plan.Component, version string, list *diag.List) []map[string]any {
	key := cacheKey(component, version)
	if contents, found := c.rendered[key]; found {
		return contents
	}
	r := rendering{root: c.root, component: component, version: version, list: list}
	contents := r.run()
	c.rendered[key] = contents
	return contents
}

// cacheKey is all that a rendering depends on. Values are JSON by construction, so encoding them cannot fail.
func cacheKey(component plan.Component, version string) string {
	key, _ := json.Marshal([]any{component.Chart.V, component.Release.V, component.Namespace.V, version, component.Values})
	return string(key)
}
