package graph_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/graph"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func unit(tenant, file string) []object.Object {
	from := &origin.Origin{At: source.Span{File: source.NewFile(file, nil), Line: 1, Column: 1, Length: 1}}
	root := object.Map("",
		object.Text("apiVersion", "v1", nil), object.Text("kind", "ResourceQuota", nil),
		object.Map("metadata", object.Text("name", "q<&>", nil), object.Text("namespace", tenant, from)))
	return []object.Object{object.New(root, object.Place{Folder: "tenants/" + tenant, File: "tenant"}, origin.Rule("quota", "bounds"))}
}

func TestEdgesFollowOrigins(t *testing.T) {
	var g graph.Graph
	g.Add("local", unit("a", "tenants/a.yaml"))
	g.Add("local", unit("b", "tenants/b.yaml"))
	d := g.Drawing()
	if len(d.Specs) != 2 || len(d.Objects) != 2 || len(d.Edges) != 2 {
		t.Fatalf("%d specs, %d objects, %d edges, want 2 of each", len(d.Specs), len(d.Objects), len(d.Edges))
	}
	for _, e := range d.Edges {
		spec, objects := d.Specs[e.Spec], d.Objects[e.Object]
		if tenant := strings.TrimSuffix(spec.Label, ".yaml"); objects.Group != "local/tenants/"+tenant {
			t.Errorf("%s feeds %s", spec.Label, objects.Group)
		}
	}
}

// A thousand tenants are not a picture: they become one box with a number.
func TestManyTenantsAreOneBox(t *testing.T) {
	var g graph.Graph
	for i := range 100 {
		g.Add("local", unit(fmt.Sprintf("t%d", i), fmt.Sprintf("tenants/t%d.yaml", i)))
	}
	d := g.Drawing()
	if len(d.Objects) != 1 || d.Objects[0].Count != 100 || len(d.Specs) != 1 {
		t.Errorf("objects %v, specs %v, want one box for 100", d.Objects, d.Specs)
	}
}

func TestSVGIsXML(t *testing.T) {
	var g graph.Graph
	g.Add("a<b", unit("x&y", "tenants/\"quoted\".yaml"))
	decoder := xml.NewDecoder(strings.NewReader(g.Drawing().SVG()))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDOTQuotesNames(t *testing.T) {
	var g graph.Graph
	g.Add("a", unit("x", `tenants/"q"\.yaml`))
	if dot := g.Drawing().DOT(); !strings.Contains(dot, `label="\"q\"\\.yaml"`) {
		t.Errorf("the name is not quoted:\n%s", dot)
	}
}
