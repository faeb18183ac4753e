package overlay_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
)

const calls = `patches:
- target: {kind: Deployment, name: a}
  path: f.jsonnet
`

// TestFunctions: a patch that is a program changes the objects that it is for, and nothing else of them.
func TestFunctions(t *testing.T) {
	cases := map[string]struct {
		reason, program string
		want            []string
	}{
		"a value": {"the place is that of the value in the program, and what it overrode is known",
			"function(object) object {\n  spec+: { replicas: 3 },\n}",
			[]string{"a spec.replicas = 3 at overlays/a/f.jsonnet:2:22, over 1 of written"}},
		"items of a list": {"a comprehension changes each item",
			"function(object) object { spec+: { template+: { spec+: {\n  containers: [c { image: 'mirror/' + c.image } for c in super.containers],\n} } } }",
			[]string{
				"a spec.template.spec.containers.main.image = mirror/app:1 at overlays/a/f.jsonnet:2:27, over app:1 of constant",
				"a spec.template.spec.containers.side.image = mirror/log:1 at overlays/a/f.jsonnet:2:27, over log:1 of constant",
			}},
		"computed": {"what the program does not write literally is at the program",
			"function(object) std.mergePatch(object, { spec: { paused: true } })",
			[]string{"a spec.paused = true at overlays/a/f.jsonnet:1:18"}},
		"an import": {"libraries are relative", "function(object) object { spec+: (import 'lib.libsonnet') }",
			[]string{"a spec.replicas = 5 at overlays/a/f.jsonnet:1:35, over 1 of written"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := read(t, folder(calls, map[string]string{"f.jsonnet": c.program, "lib.libsonnet": "{ replicas: 5 }"}))
			list := &diag.List{}
			objects, effects := o.Apply([]object.Object{deployment("a"), deployment("b")}, list)
			o.ReportIneffective(effects, noObjects, list)
			for _, d := range list.Sorted() {
				t.Errorf("%s: %s", d.Span, d.Message)
			}
			if diff := cmp.Diff(c.want, changes(objects)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestFunctionRemoves: null takes the object away, and who misses it can say where that happened.
func TestFunctionRemoves(t *testing.T) {
	o := read(t, folder(calls, map[string]string{"f.jsonnet": "function(object) null"}))
	objects, effects := o.Apply([]object.Object{deployment("a"), deployment("b")}, &diag.List{})
	if len(objects) != 1 || objects[0].ID.Name != "b" {
		t.Errorf("left are %d objects", len(objects))
	}
	if at := effects.Removed().SpanOf("Deployment", "web", "a"); at.Path() != "overlays/a/f.jsonnet" {
		t.Errorf("removed at %s", at)
	}
}

// TestWrongFunctions: each mistake is one finding at the place where it can be put right.
func TestWrongFunctions(t *testing.T) {
	for name, c := range map[string]struct{ reason, kustomization, program, want string }{
		"no function":   {"a value changes nothing", calls, "{ spec: {} }", "overlays/a/f.jsonnet: cannot be evaluated: the file must hold a function of one argument"},
		"an error":      {"its place is in the program", calls, "function(object)\n  object.spek", "overlays/a/f.jsonnet:2:3: cannot be evaluated: Field does not exist: spek"},
		"a list":        {"one object becomes one object", calls, "function(object) [object, object]", "overlays/a/f.jsonnet: the function does not return an object for Deployment.apps web/a"},
		"a text":        {"and no text", calls, "function(object) 'x'", "overlays/a/f.jsonnet: the function does not return an object for Deployment.apps web/a"},
		"another name":  {"others refer to it by name", calls, "function(object) object { metadata+: { name: 'c' } }", "overlays/a/f.jsonnet: the function turns an object into Deployment.apps web/c"},
		"no change":     {"as with other patches", calls, "function(object) object", "overlays/a/f.jsonnet: the function changes nothing"},
		"for nobody":    {"as with other patches", strings.Replace(calls, "name: a", "name: x", 1), "function(object) object", "overlays/a/kustomization.yaml:2:11: the function is for no object of the cluster"},
		"no target":     {"a function does not say what it is for", "patches:\n- path: f.jsonnet\n", "function(object) object", "overlays/a/kustomization.yaml:2:3: a function must have `target` and `path`, and nothing else"},
		"no file":       {"as with other patches", strings.Replace(calls, "f.jsonnet", "g.jsonnet", 1), "", "overlays/a/kustomization.yaml:3:9: there is no file `overlays/a/g.jsonnet`"},
		"another place": {"as with other patches", strings.Replace(calls, "f.jsonnet", "../f.jsonnet", 1), "", "overlays/a/kustomization.yaml:3:9: `../f.jsonnet` is not a file of this folder"},
	} {
		t.Run(name, func(t *testing.T) {
			list := &diag.List{}
			o := overlay.Read(folder(c.kustomization, map[string]string{"f.jsonnet": c.program}), "overlays/a", jsonnet.InProcessEvaluator{}, list)
			if o != nil {
				_, effects := o.Apply([]object.Object{deployment("a")}, list)
				o.ReportIneffective(effects, noObjects, list)
			}
			var got []string
			for _, d := range list.Sorted() {
				got = append(got, d.Span.String()+": "+d.Message)
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
