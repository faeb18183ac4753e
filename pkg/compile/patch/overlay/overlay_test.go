package overlay_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// noObjects are the objects of a cluster without any.
func noObjects(func(object.ID) bool) {}

// folder returns a file system with a kustomization and the files that it names.
func folder(kustomization string, others map[string]string) fstest.MapFS {
	files := fstest.MapFS{"overlays/a/kustomization.yaml": &fstest.MapFile{Data: []byte(kustomization)}}
	for name, text := range others {
		files["overlays/a/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// read reads an overlay that must be right.
func read(t testing.TB, files fstest.MapFS) *overlay.Overlay {
	t.Helper()
	list := &diag.List{}
	o := overlay.Read(files, "overlays/a", jsonnet.InProcessEvaluator{}, list)
	for _, d := range list.Sorted() {
		t.Errorf("%s: %s", d.Span, d.Message)
	}
	return o
}

// deployment is an object with every value at one line of a spec.
func deployment(name string) object.Object {
	line := &origin.Origin{At: source.Span{File: source.NewFile("spec.yaml", []byte("replicas: 1\n")), Line: 1, Column: 11, Length: 1}}
	container := func(name, image string) object.Node {
		return object.Map("", object.Text("name", name, nil), object.Text("image", image, nil), object.Texts("args", nil, "yes", "0644", "1e3"))
	}
	return object.New(object.Map("",
		object.Text("apiVersion", "apps/v1", nil), object.Text("kind", "Deployment", nil),
		object.Map("metadata", object.Text("name", name, nil), object.Text("namespace", "web", nil), object.Map("labels", object.Text("tier", "front", nil))),
		object.Map("spec",
			object.Number("replicas", 1, line),
			object.Map("template", object.Map("spec", object.List("containers", container("main", "app:1"), container("side", "log:1"))))),
	), object.Place{}, origin.Rule("deployment", "for tests"))
}

// changes returns the patched leaves as `path = value at place, over lost`.
func changes(objects []object.Object) []string {
	var found []string
	for i := range objects {
		o := &objects[i]
		o.Leaves(func(path []string, leaf *object.Node, from *origin.Origin) {
			if from.Kind == origin.Patched {
				line := fmt.Sprintf("%s %s = %s at %s", o.ID.Name, strings.Join(path, "."), leaf.Text, from.At)
				for _, lost := range from.Lost {
					line += fmt.Sprintf(", over %s of %s", lost.Value, lost.Origin.Kind)
				}
				found = append(found, line)
			}
		})
	}
	return found
}

func TestApply(t *testing.T) {
	cases := map[string]struct {
		reason        string
		kustomization string
		others        map[string]string
		want          []string
	}{
		"strategic merge, inline": {
			reason: "a literal block has lines of its own, and items are merged by their name",
			kustomization: `patches:
- target: {kind: Deployment, name: a}
  patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: any
    spec:
      replicas: 3
      template:
        spec:
          containers:
          - name: side
            image: log:2
`,
			want: []string{
				"a spec.replicas = 3 at overlays/a/kustomization.yaml:9:17, over 1 of written",
				"a spec.template.spec.containers.side.image = log:2 at overlays/a/kustomization.yaml:14:20, over log:1 of constant",
			},
		},
		"strategic merge, quoted": {
			reason: "a text in quotes has no lines of its own",
			kustomization: `patches:
- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: web}, spec: {replicas: 2}}'
`,
			want: []string{"a spec.replicas = 2 at overlays/a/kustomization.yaml:2:10, over 1 of written"},
		},
		"json patch, file": {
			reason:        "an operation counts items from 0; escapes of pointers are understood",
			kustomization: "patches:\n- path: p.yaml\n  target: {labelSelector: tier=front, name: b}\n",
			others: map[string]string{"p.yaml": `- op: add
  path: /metadata/labels/example.org~1owner
  value: team
- op: replace
  path: /spec/template/spec/containers/1/image
  value: log:3
- op: add
  path: /spec/template/spec/containers/0/args/-
  value: more
`},
			want: []string{
				"b metadata.labels.example.org/owner = team at overlays/a/p.yaml:3:10",
				"b spec.template.spec.containers.main.args.3 = more at overlays/a/p.yaml:9:10",
				"b spec.template.spec.containers.side.image = log:3 at overlays/a/p.yaml:6:10, over log:1 of constant",
			},
		},
		"two patches": {
			reason: "what the first one wrote is remembered behind the second",
			kustomization: `patches:
- target: {kind: Deployment, name: a}
  patch: |-
    - {op: replace, path: /spec/replicas, value: 2}
- target: {kind: Deployment, name: a}
  patch: |-
    - {op: replace, path: /spec/replicas, value: 4}
`,
			want: []string{"a spec.replicas = 4 at overlays/a/kustomization.yaml:7:50, over 2 of patched, over 1 of written"},
		},
		"images and replicas": {
			reason:        "the entry is the place of what it changes",
			kustomization: "images:\n- name: log\n  newTag: '9'\nreplicas:\n- name: b\n  count: 5\n",
			want: []string{
				"a spec.template.spec.containers.side.image = log:9 at overlays/a/kustomization.yaml:2:3, over log:1 of constant",
				"b spec.replicas = 5 at overlays/a/kustomization.yaml:5:3, over 1 of written",
				"b spec.template.spec.containers.side.image = log:9 at overlays/a/kustomization.yaml:2:3, over log:1 of constant",
			},
		},
		"labels and annotations": {
			reason:        "labels do not touch selectors",
			kustomization: "labels:\n- pairs:\n    site: west\n",
			want: []string{
				"a metadata.labels.site = west at overlays/a/kustomization.yaml:3:11",
				"b metadata.labels.site = west at overlays/a/kustomization.yaml:3:11",
			},
		},
		"deletion": {
			reason:        "what goes leaves no trace in what stays",
			kustomization: "patches:\n- target: {name: b}\n  patch: |-\n    {$patch: delete, apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list := &diag.List{}
			o := read(t, folder(c.kustomization, c.others))
			objects, effects := o.Apply([]object.Object{deployment("a"), deployment("b")}, list)
			o.ReportIneffective(effects, noObjects, list)
			for _, d := range list.Sorted() {
				if name != "two patches" || d.Code != diag.PatchReplaced {
					t.Errorf("%s: %s", d.Span, d.Message)
				}
			}
			if diff := cmp.Diff(c.want, changes(objects)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestApplyUntouched makes sure that what no patch is for is not even looked at by kustomize: it would come back as another tree.
func TestApplyUntouched(t *testing.T) {
	o := read(t, folder("patches:\n- target: {name: b}\n  patch: |-\n    - {op: replace, path: /spec/replicas, value: 2}\n", nil))
	before := []object.Object{deployment("a"), deployment("b")}
	first := &before[0].Root.Children[0]
	after, _ := o.Apply(before, &diag.List{})
	if &after[0].Root.Children[0] != first {
		t.Error("an object that no patch is for was rebuilt")
	}
}

// TestEffects joins what units tell: a step that matched in one of them matched.
func TestEffects(t *testing.T) {
	o := read(t, folder("patches:\n- target: {name: b}\n  patch: |-\n    - {op: replace, path: /spec/replicas, value: 2}\n", nil))
	var effects overlay.Effects
	for _, name := range []string{"a", "b", "c"} {
		_, own := o.Apply([]object.Object{deployment(name)}, &diag.List{})
		effects = effects.Join(own)
	}
	list := &diag.List{}
	o.ReportIneffective(effects, noObjects, list)
	if list.Len() > 0 {
		t.Errorf("a patch that changed something is complained about: %s", list.Sorted()[0].Message)
	}
	o.ReportIneffective(nil, noObjects, list)
	if got := list.Sorted(); len(got) != 1 || got[0].Code != diag.PatchMatchesNothing {
		t.Errorf("a patch without effect is not reported: %v", got)
	}
}

// TestNil says that a cluster without kustomization is not changed.
func TestNil(t *testing.T) {
	o := overlay.Read(fstest.MapFS{}, "overlays/a", nil, &diag.List{})
	if objects, _ := o.Apply([]object.Object{deployment("a")}, &diag.List{}); o != nil || len(objects) != 1 || len(o.Resources()) != 0 || o.PatchesSpecs() {
		t.Error("an overlay that does not exist has an effect")
	}
	o.ReportIneffective(nil, noObjects, &diag.List{})
}

func FuzzRead(f *testing.F) {
	f.Add("patches:\n- target: {kind: A}\n  patch: |-\n    - {op: add, path: /a, value: 1}\n")
	f.Add("resources: [p.yaml]\nlabels:\n- pairs: {a: b}\nimages:\n- name: x\n  newTag: '1'\n")
	f.Add("replacements:\n- source: {kind: ConfigMap}\n  targets:\n  - select: {kind: A}\n    fieldPaths: [a.b]\n")
	f.Add("a: &a [*a]\npatches: [{patch: '{}'}, 1, null]")
	f.Add("patches:\n- path: p.yaml\ncommonAnnotations: {a: b}\nreplicas: [{name: a, count: 2}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		list := &diag.List{}
		o := overlay.Read(folder(text, map[string]string{"p.yaml": text}), "overlays/a", nil, list)
		if (o == nil) != (list.Len() > 0) {
			t.Errorf("an overlay was made: %v; findings: %d", o != nil, list.Len())
		}
		objects, effects := o.Apply([]object.Object{deployment("a")}, list)
		o.ReportIneffective(effects, noObjects, list)
		for _, changed := range objects {
			changed.Leaves(func(path []string, _ *object.Node, from *origin.Origin) {
				if !from.Known() {
					t.Errorf("%v comes from nowhere", path)
				}
			})
		}
	})
}

func BenchmarkApply(b *testing.B) {
	o := read(b, folder("patches:\n- target: {kind: Deployment, name: 'o[12]3'}\n  patch: |-\n    - {op: replace, path: /spec/replicas, value: 2}\n", nil))
	objects := make([]object.Object, 45000)
	for i := range objects {
		objects[i] = deployment(fmt.Sprintf("o%d", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		o.Apply(append([]object.Object{}, objects...), &diag.List{})
	}
}

// BenchmarkManyPatches applies 400 patches, which write 20 keys, to each of 145 objects.
func BenchmarkManyPatches(b *testing.B) {
	const many = 400
	for name, patch := range map[string]string{
		"operations": "- {op: add, path: /metadata/labels/l%d, value: x}",
		"merges":     "{apiVersion: apps/v1, kind: Deployment, metadata: {name: any, annotations: {example.org/a%d: x}}}",
	} {
		b.Run(name, func(b *testing.B) {
			kustomization := "patches:\n"
			for i := range many {
				kustomization += "- target: {kind: Deployment}\n  patch: |-\n    " + fmt.Sprintf(patch, i%20) + "\n"
			}
			o := read(b, folder(kustomization, nil))
			objects := make([]object.Object, 145)
			for i := range objects {
				objects[i] = deployment(fmt.Sprintf("o%d", i))
			}
			for b.Loop() {
				o.Apply(append([]object.Object{}, objects...), &diag.List{})
			}
		})
	}
}
