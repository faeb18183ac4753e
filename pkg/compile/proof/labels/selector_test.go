package labels_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

func read(t *testing.T, text string) (labels.Selector, bool) {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	node := object.FromValue("", content, nil)
	return labels.ReadSelector(&node)
}

// TestRead: a selector has one form, whatever its order; nonsense is refused.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"{}": "", "{matchLabels: {b: x, a: w}}": "a=w,b=x",
		"{matchExpressions: [{key: b, operator: NotIn, values: [w, x, w]}, {key: a, operator: Exists}, {key: c, operator: DoesNotExist}]}": "a,b notin (w,x),!c",
		"{matchLabels: {a: x}, matchExpressions: [{key: a, operator: In, values: [x]}]}":                                                   "a=x",
	} {
		if s, ok := read(t, text); !ok || s.String() != want {
			t.Errorf("%s is %q, %t", text, s, ok)
		}
	}
	for _, text := range []string{
		"{matchExpressions: [{key: a, operator: Is, values: [x]}]}", "{matchExpressions: [{key: a, operator: In}]}",
		"{matchExpressions: [{key: a, operator: Exists, values: [x]}]}", "{matchExpressions: [{operator: Exists}]}",
	} {
		if s, ok := read(t, text); ok {
			t.Errorf("%s is %q", text, s)
		}
	}
}

// TestSatisfiable: requirements on one label can exclude each other.
func TestSatisfiable(t *testing.T) {
	for text, want := range map[string]bool{
		"{}": true,
		"{matchLabels: {a: x}, matchExpressions: [{key: a, operator: NotIn, values: [x]}]}":                                false,
		"{matchLabels: {a: x}, matchExpressions: [{key: a, operator: DoesNotExist}]}":                                      false,
		"{matchLabels: {a: x}, matchExpressions: [{key: b, operator: DoesNotExist}]}":                                      true,
		"{matchExpressions: [{key: a, operator: In, values: [x, y]}, {key: a, operator: In, values: [y, z]}]}":             true,
		"{matchExpressions: [{key: a, operator: In, values: [x]}, {key: a, operator: In, values: [z]}]}":                   false,
		"{matchExpressions: [{key: a, operator: Exists}, {key: a, operator: NotIn, values: [x, y, z]}]}":                   true,
		"{matchExpressions: [{key: a, operator: NotIn, values: [x]}, {key: a, operator: DoesNotExist}]}":                   true,
		"{matchExpressions: [{key: a, operator: In, values: [x, y]}, {key: a, operator: NotIn, values: [x, y, z, w, v]}]}": false,
	} {
		s, ok := read(t, text)
		if !ok || s.Satisfiable() != want {
			t.Errorf("%s: %t, %t", text, ok, !want)
		}
	}
}

// TestComplement: what none selects is nothing only where all are selected.
func TestComplement(t *testing.T) {
	of := func(texts ...string) (list []labels.Selector) {
		for _, text := range texts {
			s, _ := read(t, text)
			list = append(list, s)
		}
		return list
	}
	const some, others = "{matchLabels: {a: x}}", "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}"
	for name, c := range map[string]struct {
		selectors []labels.Selector
		left      string
		clauses   int
	}{
		"none": {nil, "", 1}, "all": {of("{}"), "", 0}, "some": {of(some), "a notin (x)", 1}, "both halves": {of(some, others), "", 0},
		"two of three": {of(some, "{matchLabels: {a: w}}"), "a notin (w),a notin (x)", 1},
	} {
		left := labels.Complement(c.selectors)
		if len(left) != c.clauses || len(left) > 0 && left[0].String() != c.left {
			t.Errorf("%s: %v", name, left)
		}
	}
	var many []labels.Selector
	for _, a := range "abcdefghijkl" {
		s, _ := read(t, "{matchLabels: {x"+string(a)+": x, y"+string(a)+": x}}")
		many = append(many, s)
	}
	if left := labels.Complement(many); len(left) != 1 || left[0].String() != "" {
		t.Errorf("what is too much to tell is not everything: %d", len(left))
	}
}
