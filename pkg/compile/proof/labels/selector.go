// Package labels is about label selectors as sets: what they select, whether something can be selected by two of them, and what
// none of them selects.
package labels

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// operator is how a label must stand to a requirement
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors).
type operator uint8

const (
	in operator = iota
	notIn
	exists
	absent
)

// requirement is one condition on labels. Values are sorted. NotIn holds for a label that is absent, as in Kubernetes.
type requirement struct {
	key    string
	op     operator
	values []string
}

// Selector is a conjunction, sorted. Without requirements it selects everything.
type Selector []requirement

// ReadSelector returns the selector of a node, and false for what is not one.
func ReadSelector(n *object.Node) (Selector, bool) {
	if n == nil || n.Kind != object.MapNode {
		return nil, n == nil || n.Kind == object.NullNode
	}
	var s Selector
	if labels := n.Get("matchLabels"); labels != nil {
		for i := range labels.Children {
			s = append(s, requirement{key: labels.Children[i].Key, op: in, values: []string{labels.Children[i].Text}})
		}
	}
	if expressions := n.Get("matchExpressions"); expressions != nil {
		for i := range expressions.Children {
			r, ok := readRequirement(&expressions.Children[i])
			if !ok {
				return nil, false
			}
			s = append(s, r)
		}
	}
	return s.Sorted(), true
}

var operators = map[string]operator{"In": in, "NotIn": notIn, "Exists": exists, "DoesNotExist": absent}

func readRequirement(n *object.Node) (requirement, bool) {
	op, known := operators[n.StringAt("operator")]
	r := requirement{key: n.StringAt("key"), op: op, values: n.Get("values").Strings()}
	slices.Sort(r.values)
	r.values = slices.Compact(r.values)
	withValues := op == in || op == notIn
	return r, known && r.key != "" && withValues == (len(r.values) > 0)
}

// Sorted returns the selector in its one order, each requirement once.
func (s Selector) Sorted() Selector {
	slices.SortFunc(s, func(a, b requirement) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.op, b.op), slices.Compare(a.values, b.values))
	})
	return slices.CompactFunc(s, requirement.equal)
}

func (r requirement) equal(other requirement) bool {
	return r.key == other.key && r.op == other.op && slices.Equal(r.values, other.values)
}

// And returns the selector of what both select, what both ask for once. Its order does not matter to Satisfiable.
func (s Selector) And(other Selector) Selector {
	switch {
	case len(s) == 0:
		return other
	case len(other) == 0:
		return s
	}
	both := slices.Clip(s)
	for _, r := range other {
		if !slices.ContainsFunc(s, r.equal) {
			both = append(both, r)
		}
	}
	return both
}

// Minus returns selectors that together select exactly what the selector does and another one does not. No two of them select the same.
func (s Selector) Minus(other Selector) []Selector {
	var pieces []Selector
	rest := s
	for _, r := range other {
		if piece := rest.And(Selector{r.negated()}); piece.Satisfiable() {
			pieces = append(pieces, piece.simplified())
		}
		rest = rest.And(Selector{r})
	}
	return pieces
}

// Overlaps reports whether some labels are selected by both.
func (s Selector) Overlaps(other Selector) bool { return s.And(other).Satisfiable() }

// simplified writes a selector that can be met as people would: a label that must have one of some values needs no other requirement.
func (s Selector) simplified() Selector {
	var simple Selector
	for _, r := range s {
		if values, named := s.Values(r.key); named {
			values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !s.allows(r.key, v) })
			r = requirement{key: r.key, op: in, values: values}
		}
		simple = append(simple, r)
	}
	return simple.Sorted()
}

// allows reports whether no requirement on a label forbids one value.
func (s Selector) allows(key, value string) bool {
	return !slices.ContainsFunc(s, func(r requirement) bool { return r.key == key && !r.isMetBy(map[string]string{key: value}) })
}

// negated returns the requirement that holds exactly where r does not.
func (r requirement) negated() requirement {
	r.op = [...]operator{in: notIn, notIn: in, exists: absent, absent: exists}[r.op]
	return r
}

// isMetBy reports whether labels meet the requirement.
func (r *requirement) isMetBy(labels map[string]string) bool {
	value, present := labels[r.key]
	switch r.op {
	case in:
		return present && slices.Contains(r.values, value)
	case notIn:
		return !present || !slices.Contains(r.values, value)
	case exists:
		return present
	}
	return !present
}

// Selects reports whether labels meet all requirements.
func (s Selector) Selects(labels map[string]string) bool {
	for i := range s {
		if !s[i].isMetBy(labels) {
			return false
		}
	}
	return true
}

// Satisfiable reports whether some labels meet all requirements. The values of a label are as good as infinitely many, so that a
// finite list of forbidden ones always leaves one.
func (s Selector) Satisfiable() bool {
	for i := range s {
		if !s.isPossible(s[i].key) {
			return false
		}
	}
	return true
}

// isPossible reports whether the requirements on one key can be met together.
func (s Selector) isPossible(key string) bool {
	var mayBe []string
	bound, present, gone := false, false, false
	for _, r := range s {
		switch {
		case r.key != key:
		case r.op == absent:
			gone = true
		case r.op == exists:
			present = true
		case r.op == in && !bound:
			mayBe, bound, present = r.values, true, true
		case r.op == in:
			mayBe = slices.DeleteFunc(slices.Clone(mayBe), func(v string) bool { return !slices.Contains(r.values, v) })
		}
	}
	if gone && present {
		return false
	}
	if !bound {
		return true
	}
	return slices.ContainsFunc(mayBe, func(v string) bool { return !s.forbids(key, v) })
}

func (s Selector) forbids(key, value string) bool {
	return slices.ContainsFunc(s, func(r requirement) bool { return r.key == key && r.op == notIn && slices.Contains(r.values, value) })
}

// maxClauses bounds what a complement may grow to. Real namespaces have one policy without a selector, and so none.
const maxClauses = 512

// Complement returns selectors that together select exactly what none of the given ones does. Where that would be too many, it
// is everything: more may seem open than is, never less.
func Complement(selectors []Selector) []Selector {
	clauses := []Selector{{}}
	for _, s := range selectors {
		var next []Selector
		for _, clause := range clauses {
			for _, r := range s {
				if wider := slices.Clone(clause).And(Selector{r.negated()}); wider.Satisfiable() {
					next = append(next, wider.Sorted())
				}
			}
		}
		slices.SortFunc(next, func(a, b Selector) int { return strings.Compare(a.String(), b.String()) })
		clauses = slices.CompactFunc(next, func(a, b Selector) bool { return a.String() == b.String() })
		if len(clauses) > maxClauses {
			return []Selector{{}}
		}
	}
	return clauses
}

// String returns the selector as kubectl writes it; everything is "".
func (s Selector) String() string {
	if len(s) == 0 {
		return ""
	}
	return string(s.Append(nil))
}

// Append appends what String returns.
func (s Selector) Append(b []byte) []byte {
	for i := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = s[i].append(b)
	}
	return b
}

func (r *requirement) append(b []byte) []byte {
	switch {
	case r.op == absent:
		return append(append(b, '!'), r.key...)
	case r.op == exists:
		return append(b, r.key...)
	case len(r.values) == 1 && r.op == in:
		return append(append(append(b, r.key...), '='), r.values[0]...)
	case r.op == in:
		b = append(append(b, r.key...), " in ("...)
	default:
		b = append(append(b, r.key...), " notin ("...)
	}
	for i, v := range r.values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ')')
}

// HasOneOf selects what has one of some values for a label.
func HasOneOf(key string, values ...string) Selector {
	return Selector{{key: key, op: in, values: values}}
}

// Present selects what has a label, Absent what has not.
func Present(key string) Selector { return Selector{{key: key, op: exists}} }

// Absent selects what does not have a label.
func Absent(key string) Selector { return Selector{{key: key, op: absent}} }

// Values returns the values that a label may have, and whether the selector names them.
func (s Selector) Values(key string) ([]string, bool) {
	i := slices.IndexFunc(s, func(r requirement) bool { return r.key == key && r.op == in })
	if i < 0 {
		return nil, false
	}
	return s[i].values, true
}
