package explain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/explain"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func TestPathsSurviveARoundTrip(t *testing.T) {
	for _, path := range []explain.Path{
		{"spec"}, {"spec", "hard", "requests.cpu"}, {"metadata", "labels", "app.kubernetes.io/managed-by"}, {"a", "0", "b"},
	} {
		parsed, err := explain.ParsePath(path.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(path, parsed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestParsePathAsPeopleWriteIt(t *testing.T) {
	tests := map[string]struct {
		text string
		want explain.Path
		ok   bool
	}{
		"LeadingDot":    {".spec.hard", explain.Path{"spec", "hard"}, true},
		"SingleQuotes":  {"spec.hard['requests.cpu']", explain.Path{"spec", "hard", "requests.cpu"}, true},
		"Index":         {"spec.items[0].name", explain.Path{"spec", "items", "0", "name"}, true},
		"Empty":         {"", nil, true},
		"OpenBracket":   {"spec[0", nil, false},
		"TwoDots":       {"spec..hard", nil, false},
		"DotAtTheEnd":   {"spec.", nil, false},
		"BracketAtOnce": {`["a.b"].c`, explain.Path{"a.b", "c"}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := explain.ParsePath(tc.text)
			if (err == nil) != tc.ok {
				t.Fatalf("error %v, want success %v", err, tc.ok)
			}
			if diff := cmp.Diff(tc.want, got); tc.ok && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParsePath(f *testing.F) {
	f.Add(`spec.hard["requests.cpu"]`)
	f.Fuzz(func(_ *testing.T, text string) { _, _ = explain.ParsePath(text) })
}

func sample() []object.Object {
	file := source.NewFile("tenants/a.yaml", []byte("one\ntwo\nthree\n"))
	at := func(line int) *origin.Origin {
		return &origin.Origin{At: source.Span{File: file, Line: line, Column: 1, Length: 1}}
	}
	over := at(2).Overriding("7", at(3))
	root := object.Map("",
		object.Text("apiVersion", "v1", nil), object.Text("kind", "ResourceQuota", nil),
		object.Map("metadata", object.Text("name", "q", nil), object.Text("namespace", "a", at(1))),
		object.Map("spec", object.Map("hard", object.Text("pods", "8", &over))))
	return []object.Object{object.New(root, object.Place{}, origin.Rule("quota", "bounds"))}
}

func TestQueries(t *testing.T) {
	tests := map[string]struct {
		query explain.Query
		want  int
	}{
		"Everything":     {explain.Query{}, 5},
		"KindInLower":    {explain.Query{Kind: "resourcequota"}, 5},
		"Plural":         {explain.Query{Kind: "ResourceQuotas", Name: "Q"}, 5},
		"OtherKind":      {explain.Query{Kind: "limitrange"}, 0},
		"OtherNamespace": {explain.Query{Namespace: "b"}, 0},
		"Below":          {explain.Query{Path: explain.Path{"spec"}}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := len(explain.SelectedValues("c", sample(), tc.query)); got != tc.want {
				t.Errorf("%d values, want %d", got, tc.want)
			}
		})
	}
}

func TestPluralOfY(t *testing.T) {
	if !(explain.Query{Kind: "networkpolicies"}).Selects(object.ID{Kind: "NetworkPolicy"}) {
		t.Error("networkpolicies does not select a NetworkPolicy")
	}
}

// A line affects what comes from it, and what would if nothing overrode it.
func TestAffected(t *testing.T) {
	for line, want := range map[int]string{1: "metadata.namespace", 2: "spec.hard.pods", 3: "spec.hard.pods"} {
		values := explain.Affected("c", sample(), "tenants/a.yaml", line)
		if len(values) != 1 || values[0].Path.String() != want {
			t.Errorf("line %d affects %v, want %s", line, values, want)
		}
	}
	if all := explain.Affected("c", sample(), "tenants/a.yaml", 0); len(all) != 2 {
		t.Errorf("the file affects %d values, want 2", len(all))
	}
}

// What is made of several values comes from the lines of all; what a chart renders from all lines that its component has.
func TestAffectedBySeveral(t *testing.T) {
	file := source.NewFile("overlays/a/cluster.yaml", []byte("one\ntwo\nthree\n"))
	at := func(line int) source.Span { return source.Span{File: file, Line: line, Column: 1, Length: 1} }
	both := &origin.Origin{Kind: origin.Derived, At: at(1), Also: []source.Span{at(2)}, Why: "sum"}
	rendered := &origin.Origin{Kind: origin.Rendered, At: source.WholeFile(source.NewFile("charts/a/templates/a.yaml", nil))}
	patched := (origin.Origin{Kind: origin.Patched, At: at(1)}).Overriding("x", rendered)
	rule := &origin.Origin{Kind: origin.Rendered, At: at(3), Also: []source.Span{at(2)}}
	objects := []object.Object{
		object.New(object.Map("", object.Text("kind", "ConfigMap", nil), object.Text("sum", "3", both)), object.Place{}, origin.Rule("map", "sums")),
		object.New(object.Map("", object.Text("kind", "Service", rendered), object.Text("type", "None", &patched)), object.Place{}, rule),
	}
	for line, want := range map[int][]string{1: {"sum", "type"}, 2: {"sum", "kind", "type"}, 3: {"kind", "type"}, 4: nil} {
		var got []string
		for _, v := range explain.Affected("c", objects, "overlays/a/cluster.yaml", line) {
			got = append(got, v.Path.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", line, diff)
		}
	}
}

// The values and the helpers of a chart feed what its templates render: "nothing" would be a wrong answer.
func TestAffectedByChart(t *testing.T) {
	rendered := &origin.Origin{Kind: origin.Rendered, At: source.WholeFile(source.NewFile("charts/a/templates/a.yaml", nil))}
	objects := []object.Object{object.New(object.Map("", object.Text("kind", "ConfigMap", rendered)), object.Place{}, rendered)}
	for file, want := range map[string]int{
		"charts/a/values.yaml": 1, "charts/a/Chart.yaml": 1, "charts/a/templates/_helpers.tpl": 1, "charts/a/templates/a.yaml": 0,
		"charts/values.yaml.md": 0, "charts/b/values.yaml": 0, "charts/aa/values.yaml": 0, "charts/a/README.md": 0,
	} {
		if got := len(explain.Affected("c", objects, file, 7)); got != want {
			t.Errorf("%s affects %d values, want %d", file, got, want)
		}
	}
}

func TestItems(t *testing.T) {
	item := func(name string) object.Node {
		return object.Map("", object.Text("name", name, nil), object.Text("image", "of-"+name, nil))
	}
	root := object.Map("", object.Map("spec", object.List("containers", item("a"), item("b"))))
	for name, tc := range map[string]struct {
		path string
		want string
		ok   bool
	}{
		"ByName":         {"spec.containers.b.image", "spec.containers.b.image", true},
		"ByIndex":        {"spec.containers[1].image", "spec.containers.b.image", true},
		"ByIndexDotted":  {"spec.containers.0", "spec.containers.a", true},
		"ByNameEquals":   {"spec.containers[name=b].image", "spec.containers.b.image", true},
		"ByQuotedEquals": {`spec.containers[name="b"]`, "spec.containers.b", true},
		"BeyondTheEnd":   {"spec.containers[2].image", "spec.containers", false},
		"KeyOfMap":       {"spec.name=b", "spec", false},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := explain.ParsePath(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			found, below, ok := path.ResolveIn(&root)
			if found.String() != tc.want || ok != tc.ok {
				t.Errorf("%s is %s, %v, want %s", tc.path, found, ok, tc.want)
			}
			if !ok && len(below) == 0 {
				t.Errorf("%s: what is there is not said", tc.path)
			}
		})
	}
}

// TestObjects: kinds are named as in kubectl, a group narrows them, and names do not mind capitals.
func TestObjects(t *testing.T) {
	objects := sample()
	for name, c := range map[string]struct {
		query explain.Query
		want  int
	}{
		"ShortName":    {explain.Query{Kind: "quota"}, 1},
		"Name":         {explain.Query{Kind: "rq", Namespace: "a", Name: "Q"}, 1},
		"AnotherGroup": {explain.Query{Kind: "resourcequota.apps"}, 0},
		"AnotherName":  {explain.Query{Name: "r"}, 0},
	} {
		if got := explain.SelectedObjects(objects, c.query); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestEmptyValues: a value with nothing in it is shown as YAML has it, and a path that an object has not selects nothing of it.
func TestEmptyValues(t *testing.T) {
	root := object.Map("", object.Text("kind", "NetworkPolicy", nil), object.Map("metadata", object.Text("name", "closed", nil)),
		object.Map("spec", object.Node{Key: "podSelector", Kind: object.MapNode}, object.Node{Key: "ingress", Kind: object.ListNode}, object.Node{Key: "egress", Kind: object.NullNode}))
	objects := []object.Object{object.New(root, object.Place{}, origin.Rule("closed", "nothing is open"))}
	for path, want := range map[string]string{"podSelector": "{}", "ingress": "[]", "egress": "null"} {
		values := explain.SelectedValues("c", objects, explain.Query{Path: explain.Path{"spec", path}})
		if len(values) != 1 || values[0].Text != want {
			t.Errorf("%s: %v", path, values)
		}
	}
	if values := explain.SelectedValues("c", objects, explain.Query{Path: explain.Path{"spec", "policyTypes"}}); len(values) > 0 {
		t.Errorf("what is not there: %v", values)
	}
}

// TestAffectedByTheValuesOfAChart: which line of its values feeds which object only a template knows; another chart's feed none.
func TestAffectedByTheValuesOfAChart(t *testing.T) {
	rendered := &origin.Origin{Kind: origin.Rendered, At: source.WholeFile(source.NewFile("charts/a/templates/a.yaml", nil))}
	objects := []object.Object{object.New(object.Map("", object.Text("kind", "Service", rendered)), object.Place{}, origin.Rule("chart", "a"))}
	for file, want := range map[string]int{
		"charts/a/values.yaml": 1, "charts/a/templates/a.yaml": 1, "charts/b/values.yaml": 0, "charts/a/templates/b.yaml": 0, "charts/a/templates/_names.tpl": 1, "charts/a/names.tpl": 1,
	} {
		if got := explain.Affected("c", objects, file, 0); len(got) != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}
