package accepted_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/accepted"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/schema/corpus"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// needsSchemas skips in a fresh clone; `make test` makes the schemas first.
func needsSchemas(t *testing.T) {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
}

// server returns the API server of a cluster of some version.
func server(t *testing.T, minor int) *accepted.Server {
	t.Helper()
	needsSchemas(t)
	list, servers := &diag.List{}, &accepted.Servers{}
	s := servers.ServerOf(&plan.Cluster{Minor: minor}, list)
	if list.Len() > 0 {
		t.Fatalf("no schemas of 1.%d: %s", minor, list.Sorted()[0].Message)
	}
	return s
}

// compiled returns the objects of this repository, in the order of clusters.
func compiled(t *testing.T) []object.Object {
	t.Helper()
	clusters, list := compile.Compile(os.DirFS("../../../.."), compile.Options{Charts: helm.Renderer{}})
	if list.Errors() > 0 {
		t.Fatalf("this repository does not compile: %s", list.Sorted()[0].Message)
	}
	var objects []object.Object
	for _, c := range clusters {
		objects = append(objects, c.Objects.Sorted()...)
	}
	return objects
}

// TestMutations breaks compiled objects, and sees the proof refuse them at the right field, or accept them. test/integration shows that
// a real API server comes to the same verdicts.
func TestMutations(t *testing.T) {
	s := server(t, 36)
	var contents []map[string]any
	for _, o := range compiled(t) {
		contents = append(contents, o.Root.Value().(map[string]any))
	}
	cases, err := corpus.CompiledCases(contents)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range cases {
		root, list := object.FromValue("", test.Object, nil), &diag.List{}
		s.Prove([]object.Object{object.New(root, object.Place{}, nil)}, list)
		var messages []string
		for _, d := range list.Sorted() {
			messages = append(messages, d.Message)
		}
		at := func(message string) bool { return strings.Contains(message, ": "+test.Refused+": ") }
		switch accept := test.Refused == "" || test.Beyond != ""; {
		case accept && len(messages) > 0:
			t.Errorf("%s: must be accepted, but: %v", test.Name, messages)
		case !accept && !slices.ContainsFunc(messages, at):
			t.Errorf("%s: must be refused at %s, but: %v", test.Name, test.Refused, messages)
		}
	}
}

// TestPlaces: what is refused is reported at the line that the value comes from, with a word about who can put it right.
func TestPlaces(t *testing.T) {
	file := source.NewFile("tenants/a.yaml", []byte("quota: lots\nname: a\n"))
	line, name := file.Token(1, 8, 4), file.Token(2, 7, 1)
	rule := origin.Rule("quota", "a quota")
	tests := map[string]struct {
		reason string
		from   *origin.Origin
		rule   *origin.Origin
		want   source.Span
		help   string
	}{
		"written":  {"a line of a spec", &origin.Origin{At: line}, rule, line, "write another value"},
		"patched":  {"the line of the patch", &origin.Origin{Kind: origin.Patched, At: line}, rule, line, "correct the patch"},
		"rendered": {"the file of the chart", nil, &origin.Origin{Kind: origin.Rendered, At: line}, line, "correct the chart"},
		"constant": {"no line: the spec that the object is made for", nil, rule, name, "mistake in the compiler"},
		"unknown":  {"a mistake in the compiler must not lose the finding", nil, nil, name, "mistake in the compiler"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			root := object.Map("", object.Text("apiVersion", "v1", nil), object.Text("kind", "ResourceQuota", nil),
				object.Map("metadata", object.Text("name", "quota", nil), object.Text("namespace", "team-a", nil)),
				object.Map("spec", object.Map("hard", object.Text("pods", "lots", test.from))))
			list := &diag.List{}
			server(t, 36).Prove([]object.Object{object.New(root, object.Place{Origin: name}, test.rule)}, list)
			if list.Len() != 1 {
				t.Fatalf("%s: want one finding, got %d", test.reason, list.Len())
			}
			d := list.Sorted()[0]
			want := "the API server would refuse ResourceQuota team-a/quota: spec.hard.pods: found `lots`, allowed is an amount such as 500m, 2 or 4Gi"
			if diff := cmp.Diff(want, d.Message); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
			if d.Code != diag.Refused || d.Span != test.want || !strings.Contains(d.Help[0], test.help) {
				t.Errorf("%s: got %s at %s with help %q", test.reason, d.Code, d.Span, d.Help)
			}
		})
	}
}

// TestUnknownKinds: charts and files bring kinds of their own, the compiler does not.
func TestUnknownKinds(t *testing.T) {
	root := object.Map("", object.Text("apiVersion", "example.com/v1", nil), object.Text("kind", "Thing", nil), object.Map("metadata", object.Text("name", "a", nil)))
	for kind, want := range map[origin.Kind]int{origin.Constant: 1, origin.Rendered: 0, origin.Written: 0, origin.Patched: 0} {
		list := &diag.List{}
		server(t, 36).Prove([]object.Object{object.New(root, object.Place{}, &origin.Origin{Kind: kind})}, list)
		if list.Len() != want || want == 1 && list.Sorted()[0].Code != diag.KindNotKnown {
			t.Errorf("%s: want %d findings, got %d", kind, want, list.Len())
		}
	}
}

// TestVersions: each cluster is judged by its own version, one without schemas by the nearest, which is said.
func TestVersions(t *testing.T) {
	needsSchemas(t)
	for minor, want := range map[int]string{
		36: "",
		34: "",
		29: "there are no schemas of Kubernetes 1.29: the objects were checked against those of 1.34",
		40: "there are no schemas of Kubernetes 1.40: the objects were checked against those of 1.36",
	} {
		list, servers := &diag.List{}, &accepted.Servers{}
		if servers.ServerOf(&plan.Cluster{Minor: minor}, list) == nil {
			t.Errorf("1.%d: nothing is checked", minor)
		}
		got := ""
		if list.Len() > 0 {
			got = list.Sorted()[0].Message
		}
		if got != want {
			t.Errorf("1.%d: want %q, got %q", minor, want, got)
		}
	}
}

// chart renders one object.
func chart(template string) fstest.MapFS {
	return fstest.MapFS{
		"charts/extra/Chart.yaml":            {Data: []byte("apiVersion: v2\nname: extra\nversion: 0.1.0\n")},
		"charts/extra/templates/object.yaml": {Data: []byte(template)},
	}
}

// TestCharts: rendered objects are checked like ours, at the file of the chart.
func TestCharts(t *testing.T) {
	needsSchemas(t)
	specs := func(version string) string {
		return fmt.Sprintf("apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {platform: Kubernetes, version: %q, controller: {namespace: lockstep-system}, "+
			"agent: {image: example.org/agent:1}, components: [{chart: charts/extra, release: extra, namespace: extra}]}\n", version)
	}
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: extra}\ndata: {replicas: %s}\n"
	prooftest.CompileSample(t, specs("1.36"), chart(fmt.Sprintf(config, `"1"`)))

	root := chart(fmt.Sprintf(config, "1"))
	root["overlays/a/cluster.yaml"] = &fstest.MapFile{Data: []byte(specs("1.36"))}
	_, list := compile.Compile(root, compile.Options{Charts: helm.Renderer{}})
	got := list.Sorted()
	if len(got) != 1 || got[0].Code != diag.Refused || got[0].Span.Path() != "charts/extra/templates/object.yaml" ||
		!strings.Contains(got[0].Message, "data.replicas: found the number 1, allowed is a string") {
		t.Errorf("a number in a ConfigMap of a chart: got %v", got)
	}
}
