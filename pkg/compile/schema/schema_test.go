package schema_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/schema/corpus"
)

// schemas returns those of a version. `make test` has made the archive; a plain `go test` in a fresh clone skips.
func schemas(t testing.TB, minor int) *schema.Schemas {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	s, err := schema.SchemasFor(minor)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func cases(t testing.TB) []corpus.Case {
	t.Helper()
	all, err := corpus.Cases()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCorpus compares verdicts with those that test/integration compares with a real API server.
func TestCorpus(t *testing.T) {
	s := schemas(t, 36)
	for _, test := range cases(t) {
		t.Run(test.Name, func(t *testing.T) {
			root := object.FromValue("", test.Object, nil)
			var paths []string
			problems := s.Check(&root)
			for _, p := range problems {
				path := p.Path
				if path == "" {
					path = "<root>"
				}
				paths = append(paths, path)
			}
			switch {
			case test.Refused == "" && len(problems) > 0:
				t.Errorf("must be accepted, but: %v", problems)
			case test.Refused != "" && !slices.Contains(paths, test.Refused):
				t.Errorf("must be refused at %s, but: %v", test.Refused, problems)
			}
			if again := s.Check(&root); fmt.Sprint(again) != fmt.Sprint(problems) {
				t.Errorf("a second check says something else: %v, then %v", problems, again)
			}
		})
	}
}

// What is missing, or another kind of value than expected, is judged: no part of an object can be taken for granted.
func TestAnyPartMayBeMissing(t *testing.T) {
	s := schemas(t, 36)
	for _, test := range cases(t) {
		everyPart(test.Object, func(name string) {
			defer func() {
				if recovered := recover(); recovered != nil {
					t.Errorf("%s: %s: %v", test.Name, name, recovered)
				}
			}()
			root := object.FromValue("", test.Object, nil)
			s.Check(&root)
		})
	}
}

// everyPart changes a value in all ways, one at a time: each part of it goes, or becomes something else.
func everyPart(value any, look func(name string)) {
	others := []any{nil, "", map[string]any{}, []any{}, []any{nil}, int64(0)}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			was := value[key]
			delete(value, key)
			look(key + " gone")
			for _, other := range others {
				value[key] = other
				look(fmt.Sprintf("%s: %v", key, other))
			}
			value[key] = was
			everyPart(was, look)
		}
	case []any:
		for i, was := range value {
			for _, other := range others {
				value[i] = other
				look(fmt.Sprintf("[%d]: %v", i, other))
			}
			value[i] = was
			everyPart(was, look)
		}
	}
}

func TestAllMinorsKnowTheKinds(t *testing.T) {
	for _, minor := range []int{34, 35, 36} {
		s := schemas(t, minor)
		for _, test := range cases(t) {
			root := object.FromValue("", test.Object, nil)
			if problems := s.Check(&root); len(problems) > 0 && (problems[0].Unknown || test.Refused == "" && !strings.Contains(test.Name, "begins with a digit")) {
				t.Errorf("1.%d: %s: %v", minor, test.Name, problems)
			}
		}
	}
}

func TestForUnknownMinor(t *testing.T) {
	schemas(t, 36)
	_, err := schema.SchemasFor(20)
	if want := "this build has no schemas of Kubernetes 1.20, only of 1.34, 1.35, 1.36"; err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
	if got := schema.AvailableMinors(); !slices.Equal(got, []int{34, 35, 36}) {
		t.Errorf("got minors %v", got)
	}
}

func TestUnknownKind(t *testing.T) {
	root := object.Map("", object.Text("apiVersion", "example.com/v1", nil), object.Text("kind", "Thing", nil))
	got := schemas(t, 36).Check(&root)
	want := []schema.Problem{{Message: "no schema for kind `Thing` of `example.com/v1`", Unknown: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMessages shows what users read, one of each form, and where a problem says that its value comes from.
func TestMessages(t *testing.T) {
	rule, line := origin.Rule("quota", "a quota"), origin.Rule("line", "of a spec")
	quota := func(spec object.Node) object.Node {
		return object.Map("", object.Text("apiVersion", "v1", nil), object.Text("kind", "ResourceQuota", nil),
			object.Map("metadata", object.Text("name", "quota", nil), object.Text("namespace", "team-a", nil)), spec).With(rule)
	}
	tests := map[string]struct {
		spec object.Node
		want []schema.Problem
	}{
		"unknown field, near another": {
			object.Map("spec", object.Map("hards").With(line)),
			[]schema.Problem{{Path: "spec.hards", Key: "hards", Message: "unknown field, did you mean `hard`?", From: line}},
		},
		"unknown field, near none": {
			object.Map("spec", object.Map("limits")),
			[]schema.Problem{{Path: "spec.limits", Key: "limits", Message: "unknown field, allowed are hard, scopeSelector, scopes", From: rule}},
		},
		"wrong type": {
			object.Map("spec", object.Text("hard", "all", nil)).With(line),
			[]schema.Problem{{Path: "spec.hard", Message: "found the string `all`, allowed is a map", From: line}},
		},
		"bad amount under a key with a dot": {
			object.Map("spec", object.Map("hard", object.Text("requests.cpu", "lots", line))),
			[]schema.Problem{{Path: `spec.hard["requests.cpu"]`, Message: "found `lots`, allowed is an amount such as 500m, 2 or 4Gi", From: line}},
		},
		"several": {
			object.Map("spec", object.Map("hard", object.Text("gpu", "1", nil), object.Text("pods", "-1", line))),
			[]schema.Problem{
				{Path: "spec.hard.gpu", Message: "`gpu` is not a resource that Kubernetes knows here; one of a device has a domain, such as nvidia.com/gpu", From: rule},
				{Path: "spec.hard.pods", Message: "found `-1`, the least allowed is 0", From: line},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := quota(test.spec)
			if diff := cmp.Diff(test.want, schemas(t, 36).Check(&root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRuleVerdictsAreRemembered makes sure that a verdict is remembered for what a rule reads and for nothing else.
func TestRuleVerdictsAreRemembered(t *testing.T) {
	s := schemas(t, 36)
	queue := func(cohort, flavor string) int {
		spec := []object.Node{object.List("resourceGroups", object.Map("",
			object.Texts("coveredResources", nil, "cpu"),
			object.List("flavors", object.Map("", object.Text("name", flavor, nil), object.List("resources", object.Map("",
				object.Text("borrowingLimit", "1", nil), object.Text("name", "cpu", nil), object.Text("nominalQuota", "1", nil)))))))}
		if cohort != "" {
			spec = append(spec, object.Text("cohortName", cohort, nil))
		}
		root := object.Map("", object.Text("apiVersion", "kueue.x-k8s.io/v1beta2", nil), object.Text("kind", "ClusterQueue", nil),
			object.Map("metadata", object.Text("name", "a", nil)), object.Map("spec", spec...))
		return len(s.Check(&root))
	}
	for i, test := range []struct {
		cohort, flavor string
		problems       int
	}{{"a", "x", 0}, {"", "x", 1}, {"a", "x", 0}, {"b", "y", 0}, {"", "y", 1}, {"", "x", 1}} {
		if got := queue(test.cohort, test.flavor); got != test.problems {
			t.Errorf("%d: %d problems, want %d", i, got, test.problems)
		}
	}
}

// TestPodsOfRuntimes: an API server takes a runtime and refuses the pods of its jobs. TrainJobs may bring an image, and two volumes come with
// each job.
func TestPodsOfRuntimes(t *testing.T) {
	runtime := func(container map[string]any) object.Node {
		jobs := []any{map[string]any{"name": "node", "template": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{container},
		}}}}}}
		return object.FromValue("", map[string]any{
			"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": map[string]any{"name": "mpi"},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"replicatedJobs": jobs}}},
		}, nil)
	}
	mount := func(name string) map[string]any {
		return map[string]any{"name": "node", "volumeMounts": []any{map[string]any{"name": name, "mountPath": "/x"}}}
	}
	for name, test := range map[string]struct {
		container map[string]any
		want      string
	}{
		"no image":          {map[string]any{"name": "node"}, ""},
		"volume of the job": {mount("mpi-hostfile"), ""},
		"no such volume":    {mount("data"), "the pod has no volume `data`"},
		"above the limit": {map[string]any{"name": "node", "resources": map[string]any{
			"requests": map[string]any{"cpu": "64"}, "limits": map[string]any{"cpu": "32"},
		}}, "found `64`, but the limit is `32`"},
	} {
		root := runtime(test.container)
		found := schemas(t, 36).Check(&root)
		if test.want == "" && len(found) > 0 || test.want != "" && (len(found) != 1 || !found[0].OfPods || found[0].Message != test.want) {
			t.Errorf("%s: got %v, want %q", name, found, test.want)
		}
	}
}
