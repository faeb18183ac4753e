// Package prooftest helps to test proofs: it compiles specs, and changes the objects that come out, node by node.
package prooftest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Sample is a compiled cluster: what it should be, and what it is.
type Sample struct {
	Plan    *plan.Cluster
	Objects []object.Object
}

// CompileSample compiles the specs of one cluster, documents separated by lines of `---`. Beside them may be files, such as charts.
func CompileSample(t testing.TB, text string, beside fstest.MapFS) Sample {
	t.Helper()
	list, root := &diag.List{}, fstest.MapFS{}
	maps.Copy(root, beside)
	var files []*source.File
	folder := map[string]string{"HardwareProfile": "catalog", "MPIRuntime": "catalog", "Tenant": "tenants", "Cluster": "overlays"}
	byFolder := map[string][]string{}
	for _, document := range strings.Split(text, "---\n") {
		_, kind, _ := strings.Cut(document, "\nkind: ")
		kind, _, _ = strings.Cut(kind, "\n")
		byFolder[folder[kind]] = append(byFolder[folder[kind]], document)
	}
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		// A file holds at most 1,000 documents.
		for i, documents := range slices.Collect(slices.Chunk(byFolder[folder], 500)) {
			file := source.NewFile(fmt.Sprintf("%s/%d/cluster.yaml", folder, i), []byte(strings.Join(documents, "---\n")))
			files, root[file.Path] = append(files, file), &fstest.MapFile{Data: file.Data}
		}
	}
	plans := plan.Clusters(resolve.IndexDocuments(decode.Files(files, list), list), "")
	clusters, found := compile.Compile(root, compile.Options{Charts: helm.Renderer{}})
	if list.Errors()+found.Errors() > 0 || len(plans) != 1 || len(clusters) != 1 {
		for _, d := range append(list.Sorted(), found.Sorted()...) {
			t.Errorf("%s %s: %s", d.Code, d.Span, d.Message)
		}
		t.FailNow()
	}
	return Sample{plans[0], clusters[0].Objects.Sorted()}
}

// WithoutObject returns objects but one.
func WithoutObject(objects []object.Object, i int) []object.Object {
	return slices.Delete(slices.Clone(objects), i, i+1)
}

// VisitNodes calls do for every node below one, with its path.
func VisitNodes(n *object.Node, path string, do func(path string, n *object.Node)) {
	for i := range n.Children {
		child := &n.Children[i]
		name := child.Key
		if name == "" {
			name = fmt.Sprint(i)
		}
		below := strings.TrimSpace(path + " " + name)
		do(below, child)
		VisitNodes(child, below, do)
	}
}

// ReplaceNode returns a copy of a tree with one node replaced, or dropped for nil.
func ReplaceNode(root object.Node, target, to *object.Node) object.Node {
	children := make([]object.Node, 0, len(root.Children))
	for i := range root.Children {
		switch child := &root.Children[i]; {
		case child == target && to == nil:
		case child == target:
			children = append(children, *to)
		default:
			children = append(children, ReplaceNode(*child, target, to))
		}
	}
	if root.Children != nil {
		root.Children = children
	}
	return root
}
