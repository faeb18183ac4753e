package compile_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/object"
)

// replaced changes text in a file.
func replaced(file, old, now string) func(fstest.MapFS) {
	return func(files fstest.MapFS) {
		changed := strings.Replace(string(files[file].Data), old, now, 1)
		files[file] = &fstest.MapFile{Data: []byte(changed)}
	}
}

// unitsOf compiles everything and returns the objects by unit.
func unitsOf(t *testing.T, files fstest.MapFS) map[string][]object.Object {
	t.Helper()
	units := map[string][]object.Object{}
	list, err := compile.Stream(files, compile.Options{Workers: 4, Jsonnet: jsonnet.InProcessEvaluator{}}, func(u compile.Unit) error {
		if len(u.Objects) > 0 {
			units[u.Cluster+"/"+u.Name] = u.Objects
		}
		return nil
	})
	if err != nil || list.Errors() > 0 {
		t.Fatalf("the fixture does not compile: %v\n%s", err, text(t, list))
	}
	return units
}

func values(objects []object.Object) []any {
	var all []any
	for i := range objects {
		all = append(all, objects[i].Root.Value())
	}
	return all
}

// TestPairs: whatever changes, every unit comes once, and its sides are what a compilation of each state gives.
func TestPairs(t *testing.T) {
	cases := map[string]struct {
		change func(fstest.MapFS)
		// base changes both sides, nil for nothing.
		base func(fstest.MapFS)
	}{
		"Nothing": {change: func(fstest.MapFS) {}},
		"Tenant":  {change: replaced("tenants/team-vision.yaml", "pods: 40", "pods: 41")},
		"Comment": {change: replaced("tenants/team-vision.yaml", "pods: 40", "pods: 40 # enough")},
		"Gone":    {change: func(files fstest.MapFS) { delete(files, "tenants/team-nlp.yaml") }},
		"MovedFile": {change: func(files fstest.MapFS) {
			files["tenants/moved.yaml"] = files["tenants/team-nlp.yaml"]
			delete(files, "tenants/team-nlp.yaml")
		}},
		"Runtime": {change: replaced("catalog/runtimes/openmpi5-cpu.yaml", "max: ", "max: 1")},
		"Cluster": {change: replaced("overlays/local/cluster.yaml", "spec:\n", "spec:\n  # a remark\n")},
		"Patch": {change: func(files fstest.MapFS) {
			files["overlays/local/kustomization.yaml"] = &fstest.MapFile{Data: []byte(
				"patches:\n- target: {kind: ResourceQuota}\n  patch: |-\n    - {op: add, path: /metadata/annotations/example.org~1a, value: b}\n")}
		}},
		"PatchElsewhere": {change: func(files fstest.MapFS) {
			files["overlays/onprem/kustomization.yaml"] = &fstest.MapFile{Data: []byte(
				"patches:\n- target: {group: lockstep.dev, kind: Tenant}\n  patch: |-\n    - {op: replace, path: /spec/quota/pods, value: 60}\n")}
		}},
		"LibraryElsewhere": {
			base: func(files fstest.MapFS) {
				files["overlays/local/kustomization.yaml"] = &fstest.MapFile{Data: []byte("patches:\n- target: {kind: ResourceQuota}\n  path: f.jsonnet\n")}
				files["overlays/local/f.jsonnet"] = &fstest.MapFile{Data: []byte("function(object) object { metadata+: import '../onprem/lib.libsonnet' }")}
				files["overlays/onprem/lib.libsonnet"] = &fstest.MapFile{Data: []byte("{ annotations: { a: 'b' } }")}
			},
			change: replaced("overlays/onprem/lib.libsonnet", "'b'", "'c'"),
		},
		"Resource": {change: func(files fstest.MapFS) {
			files["overlays/local/kustomization.yaml"] = &fstest.MapFile{Data: []byte("resources: [added.yaml]\n")}
			files["overlays/local/added.yaml"] = &fstest.MapFile{Data: []byte(
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, namespace: lockstep-system}\n")}
		}},
		"ClusterNew": {change: func(files fstest.MapFS) {
			spec := strings.Replace(string(files["overlays/local/cluster.yaml"].Data), "name: local", "name: edge", 1)
			files["overlays/edge/cluster.yaml"] = &fstest.MapFile{Data: []byte(spec)}
		}},
		"UnrelatedFile": {change: func(files fstest.MapFS) { files["README.md"] = &fstest.MapFile{Data: []byte("hello")} }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := specsOf(t), specsOf(t)
			if c.base != nil {
				c.base(before)
				c.base(after)
			}
			c.change(after)
			was, is := unitsOf(t, before), unitsOf(t, after)
			last, tenantsOf := "", map[string]string{}
			states, err := compile.CompareStates(before, after, compile.Options{Workers: 4, Jsonnet: jsonnet.InProcessEvaluator{}}, func(p compile.ComparedUnit) error {
				unit := p.Cluster + "/" + p.Name
				for side, want := range map[string][]object.Object{"before": was[unit], "after": is[unit]} {
					got := p.Before
					if side == "after" {
						got = p.After
					}
					if diff := cmp.Diff(values(want), values(got)); diff != "" {
						t.Errorf("%s, %s (-whole +pair):\n%s", unit, side, diff)
					}
				}
				if strings.HasPrefix(p.Name, "tenants/") && p.Name < tenantsOf[p.Cluster] || p.Cluster < last {
					t.Errorf("%s comes after %s and %s", unit, last, tenantsOf[p.Cluster])
				}
				last = p.Cluster
				if strings.HasPrefix(p.Name, "tenants/") {
					tenantsOf[p.Cluster] = p.Name
				}
				delete(was, unit)
				delete(is, unit)
				return nil
			})
			if err != nil || states.Before.List.Errors()+states.After.List.Errors() > 0 {
				t.Fatalf("got %v\n%s%s", err, text(t, states.Before.List), text(t, states.After.List))
			}
			for unit := range was {
				t.Errorf("%s of the state before did not come", unit)
			}
			for unit := range is {
				t.Errorf("%s of the state after did not come", unit)
			}
			for _, side := range []compile.State{states.Before, states.After} {
				if len(side.Proven) != len(side.Plans) || len(side.Plans) < 3 {
					t.Errorf("%d of %d clusters are proven", len(side.Proven), len(side.Plans))
				}
			}
		})
	}
}

// TestPairsOfBroken: where a state does not compile there is nothing to compare, and both sides' findings are told.
func TestPairsOfBroken(t *testing.T) {
	before, after := specsOf(t), specsOf(t)
	replaced("tenants/team-vision.yaml", "pods: 40", "pods: many")(after)
	states, err := compile.CompareStates(before, after, compile.Options{}, func(p compile.ComparedUnit) error {
		t.Errorf("the unit %s was compared", p.Name)
		return nil
	})
	if err != nil || states.Before.List.Errors() != 0 || !strings.Contains(text(t, states.After.List), "`pods` must be a whole number") {
		t.Errorf("got %v, before:\n%safter:\n%s", err, text(t, states.Before.List), text(t, states.After.List))
	}
	refused := errors.New("refused")
	if _, err := compile.CompareStates(before, before, compile.Options{}, func(compile.ComparedUnit) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("an error of who takes pairs: got %v", err)
	}
}
