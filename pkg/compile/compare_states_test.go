package compile_test

import (
	"errors"
	"maps"
	"slices"
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

// TestPairs: whatever changes, both sides of a unit are what a whole compilation gives, and a unit that is left out is the same on both
// sides. A change of one tenant leaves out the others.
func TestPairs(t *testing.T) {
	cases := map[string]struct {
		change func(fstest.MapFS)
		// base changes both sides, nil for nothing.
		base func(fstest.MapFS)
		// tenants are those whose units come; nil where all do.
		tenants []string
		// without is how the names of units begin that do not come, "" for none.
		without string
	}{
		"Nothing": {change: func(fstest.MapFS) {}, tenants: []string{}},
		"Tenant":  {change: replaced("tenants/team-vision.yaml", "pods: 40", "pods: 41"), tenants: []string{"team-vision"}},
		"Comment": {change: replaced("tenants/team-vision.yaml", "pods: 40", "pods: 40 # enough"), tenants: []string{"team-vision"}},
		"Gone":    {change: func(files fstest.MapFS) { delete(files, "tenants/team-nlp.yaml") }, tenants: []string{"team-nlp"}},
		"MovedFile": {change: func(files fstest.MapFS) {
			files["tenants/moved.yaml"] = files["tenants/team-nlp.yaml"]
			delete(files, "tenants/team-nlp.yaml")
		}, tenants: []string{"team-nlp"}},
		"Runtime": {change: replaced("catalog/runtimes/openmpi5-cpu.yaml", "max: ", "max: 1")},
		"Cluster": {change: replaced("overlays/local/cluster.yaml", "spec:\n", "spec:\n  # a remark\n")},
		"Patch": {change: func(files fstest.MapFS) {
			files["overlays/local/kustomization.yaml"] = &fstest.MapFile{Data: []byte(
				"patches:\n- target: {kind: ResourceQuota}\n  patch: |-\n    - {op: add, path: /metadata/annotations/example.org~1a, value: b}\n")}
		}},
		"PatchElsewhere": {change: func(files fstest.MapFS) {
			files["overlays/onprem/kustomization.yaml"] = &fstest.MapFile{Data: []byte(
				"patches:\n- target: {group: lockstep.dev, kind: Tenant}\n  patch: |-\n    - {op: replace, path: /spec/quota/pods, value: 60}\n")}
		}, without: "local/tenants/"},
		"LibraryElsewhere": {
			base: func(files fstest.MapFS) {
				files["overlays/local/kustomization.yaml"] = &fstest.MapFile{Data: []byte("patches:\n- target: {kind: ResourceQuota}\n  path: f.jsonnet\n")}
				files["overlays/local/f.jsonnet"] = &fstest.MapFile{Data: []byte("function(object) object { metadata+: import '../onprem/lib.libsonnet' }")}
				files["overlays/onprem/lib.libsonnet"] = &fstest.MapFile{Data: []byte("{ annotations: { a: 'b' } }")}
			},
			change: replaced("overlays/onprem/lib.libsonnet", "'b'", "'c'"),
		},
		"UnrelatedFile": {change: func(files fstest.MapFS) { files["README.md"] = &fstest.MapFile{Data: []byte("hello")} }, tenants: []string{}},
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
			tenants := map[string]bool{}
			states, err := compile.CompareStates(before, after, compile.Options{Workers: 4, Jsonnet: jsonnet.InProcessEvaluator{}}, func(p compile.ComparedUnit) error {
				unit := p.Cluster + "/" + p.Name
				if c.without != "" && strings.HasPrefix(unit, c.without) {
					t.Errorf("%s came", unit)
				}
				for side, want := range map[string][]object.Object{"before": was[unit], "after": is[unit]} {
					got := p.Before
					if side == "after" {
						got = p.After
					}
					if diff := cmp.Diff(values(want), values(got)); diff != "" {
						t.Errorf("%s, %s (-whole +pair):\n%s", unit, side, diff)
					}
				}
				if tenant, found := strings.CutPrefix(p.Name, "tenants/"); found {
					tenants[tenant] = true
				}
				delete(was, unit)
				delete(is, unit)
				return nil
			})
			if err != nil || states.BeforeList.Errors()+states.AfterList.Errors() > 0 {
				t.Fatalf("got %v\n%s%s", err, text(t, states.BeforeList), text(t, states.AfterList))
			}
			for unit, objects := range was {
				if diff := cmp.Diff(values(objects), values(is[unit])); diff != "" {
					t.Errorf("%s was left out (-before +after):\n%s", unit, diff)
				}
			}
			if got := slices.Sorted(maps.Keys(tenants)); c.tenants != nil && !slices.Equal(got, c.tenants) {
				t.Errorf("tenants that came: got %q, want %q", got, c.tenants)
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
	if err != nil || states.BeforeList.Errors() != 0 || !strings.Contains(text(t, states.AfterList), "`pods` must be a whole number") {
		t.Errorf("got %v, before:\n%safter:\n%s", err, text(t, states.BeforeList), text(t, states.AfterList))
	}
	refused := errors.New("refused")
	if _, err := compile.CompareStates(before, before, compile.Options{}, func(compile.ComparedUnit) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("an error of who takes pairs: got %v", err)
	}
}
