// Package graph draws which specs feed which compiled objects, as DOT and as SVG.
//
// An edge is a fact, not a guess: some value of the object has its origin in the spec file. Objects of one kind in one folder are
// one box with a number, because a tenant has dozens and a cluster thousands.
package graph

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// Graph collects units; Drawing returns what was collected.
type Graph struct {
	boxes map[boxKey]*boxContent
}

// boxKey is what objects are drawn as one.
type boxKey struct{ cluster, folder, kind string }

type boxContent struct {
	objects int
	files   map[string]bool
}

// Add adds the objects of a unit.
func (g *Graph) Add(cluster string, objects []object.Object) {
	if g.boxes == nil {
		g.boxes = map[boxKey]*boxContent{}
	}
	for i := range objects {
		o := &objects[i]
		key := boxKey{cluster: cluster, folder: o.Folder, kind: o.ID.Kind}
		if g.boxes[key] == nil {
			g.boxes[key] = &boxContent{files: map[string]bool{}}
		}
		c := g.boxes[key]
		c.objects++
		if file := o.Origin.Path(); file != "" {
			c.files[file] = true
		}
		o.Leaves(func(_ []string, _ *object.Node, from *origin.Origin) { c.addFeeds(from) })
	}
}

func (c *boxContent) addFeeds(from *origin.Origin) {
	if file := from.At.Path(); file != "" {
		c.files[file] = true
	}
	for _, lost := range from.Lost {
		if lost.Origin != nil && lost.Origin.At.Path() != "" {
			c.files[lost.Origin.At.Path()] = true
		}
	}
}

// Drawing is the graph in a stable order: specs on the left, objects on the right.
type Drawing struct {
	Specs, Objects []Node
	Edges          []Edge
}

// Node is a box with text.
type Node struct {
	// Group is the folder, for objects with the cluster before it.
	Group, Label string
	// Count is how many objects or files the box stands for.
	Count int
}

// Edge leads from a spec to objects, by their index.
type Edge struct{ Spec, Object int }

// maxTenants is how many tenants are drawn one by one; more become one box per kind.
const maxTenants = 8

// Drawing returns the graph.
func (g *Graph) Drawing() Drawing {
	boxes := g.foldTenants()
	var d Drawing
	specs := map[string]int{}
	for _, key := range sortedBoxes(boxes) {
		c := boxes[key]
		d.Objects = append(d.Objects, Node{Group: path.Join(key.cluster, key.folder), Label: key.kind, Count: c.objects})
		for file := range c.files {
			specs[file] = 0
		}
	}
	for _, file := range slices.Sorted(maps.Keys(specs)) {
		specs[file] = len(d.Specs)
		d.Specs = append(d.Specs, Node{Group: path.Dir(file), Label: path.Base(file), Count: 1})
	}
	for i, key := range sortedBoxes(boxes) {
		for _, file := range slices.Sorted(maps.Keys(boxes[key].files)) {
			d.Edges = append(d.Edges, Edge{Spec: specs[file], Object: i})
		}
	}
	return d
}

// foldTenants makes one of the tenants of a cluster where there are too many to see.
func (g *Graph) foldTenants() map[boxKey]*boxContent {
	tenants := map[string]bool{}
	for key := range g.boxes {
		if strings.HasPrefix(key.folder, tenantsFolder) {
			tenants[key.folder] = true
		}
	}
	if len(tenants) <= maxTenants {
		return g.boxes
	}
	result := map[boxKey]*boxContent{}
	for key, c := range g.boxes {
		files := c.files
		if strings.HasPrefix(key.folder, tenantsFolder) {
			key.folder = tenantsFolder + "*"
			files = foldTenantFiles(files)
		}
		if result[key] == nil {
			result[key] = &boxContent{files: map[string]bool{}}
		}
		result[key].objects += c.objects
		for file := range files {
			result[key].files[file] = true
		}
	}
	return result
}

const tenantsFolder = "tenants/"

func foldTenantFiles(files map[string]bool) map[string]bool {
	result := map[string]bool{}
	for file := range files {
		if strings.HasPrefix(file, tenantsFolder) {
			file = tenantsFolder + "*"
		}
		result[file] = true
	}
	return result
}

func sortedBoxes(boxes map[boxKey]*boxContent) []boxKey {
	return slices.SortedFunc(maps.Keys(boxes), func(a, b boxKey) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.folder, b.folder), cmp.Compare(a.kind, b.kind))
	})
}

// labelWithCount is a node's label with its number.
func (n Node) labelWithCount() string {
	if n.Count == 1 {
		return n.Label
	}
	return fmt.Sprintf("%s × %d", n.Label, n.Count)
}
