package schema

import (
	"encoding/json"
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// kindTable is shape.Table with what makes checks fast.
type kindTable struct {
	name       objectKind
	Native     bool
	Namespaced bool
	Root       int
	Shapes     []shapeNode
	// validName says what is wrong with a name of this kind.
	validName func(name string) []string
	// rules are what the API server checks in Go code; nil for most kinds.
	rules func(*check)
}

// shapeNode is one shape of a table.
type shapeNode struct {
	shape.Shape
	// kinds has a bit for every object.Kind that the type allows.
	kinds uint8
	// limited and combined say that there is something to check beyond the type: of a scalar; and under allOf, anyOf, oneOf, not.
	limited, combined bool
	// defaulted are the properties that have a default, sorted.
	defaulted []defaultedField
	// accepted are values that match Pattern.
	accepted *acceptedTexts
	// rules are the compiled Rules.
	rules *ruleSet
}

type defaultedField struct {
	name  string
	at    int
	value object.Node
}

func kindBits(kinds ...object.Kind) (bits uint8) {
	for _, k := range kinds {
		bits |= 1 << k
	}
	return bits
}

// prepareChecks completes a table that was just decoded.
func (t *kindTable) prepareChecks() {
	for i := range t.Shapes {
		s := &t.Shapes[i]
		s.kinds = s.allowedKinds()
		s.combined = len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil
		s.limited = s.Format != "" || s.Pattern != "" || s.Enum != nil || s.Minimum != nil || s.Maximum != nil ||
			s.MinLength != nil || s.MaxLength != nil || s.Type == "integer" || s.IntOrString
		if s.Pattern != "" {
			s.accepted = newAcceptedTexts(s.Pattern)
		}
		if len(s.Rules) > 0 {
			s.rules = &ruleSet{from: s.Rules}
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if value := t.Shapes[s.Properties[name]].Default; value != nil && !t.Native {
				s.defaulted = append(s.defaulted, defaultedField{name, s.Properties[name], object.FromValue(name, withExactNumbers(value), nil)})
			}
		}
	}
	t.rules = nativeRules(t.name)
}

// withExactNumbers returns a decoded default with its numbers as JSON writes them.
func withExactNumbers(value any) any {
	switch value := value.(type) {
	case float64:
		data, _ := json.Marshal(value)
		return json.Number(data)
	case map[string]any:
		for key, child := range value {
			value[key] = withExactNumbers(child)
		}
	case []any:
		for i, child := range value {
			value[i] = withExactNumbers(child)
		}
	}
	return value
}

func (s *shapeNode) allowedKinds() uint8 {
	if s.IntOrString {
		return kindBits(object.TextNode, object.NumberNode)
	}
	switch s.Type {
	case "object":
		return kindBits(object.MapNode)
	case "array":
		return kindBits(object.ListNode)
	case "string":
		return kindBits(object.TextNode)
	case "integer", "number":
		return kindBits(object.NumberNode)
	case "boolean":
		return kindBits(object.BoolNode)
	}
	if s.Format == shape.Quantity {
		return kindBits(object.TextNode, object.NumberNode)
	}
	return ^uint8(0)
}

// typeName says what a node allows.
func (s *shapeNode) typeName() string {
	switch {
	case s.IntOrString:
		return "a whole number or a string"
	case s.Format == shape.Quantity:
		return "an amount such as 500m, 2 or 4Gi"
	}
	return map[string]string{
		"object": "a map", "array": "a list", "string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false",
	}[s.Type]
}

// foundText says what a value is.
func foundText(n *object.Node) string {
	switch n.Kind {
	case object.MapNode:
		return "a map"
	case object.ListNode:
		return "a list"
	case object.TextNode:
		return "the string `" + n.Text + "`"
	case object.NumberNode:
		return "the number " + n.Text
	case object.BoolNode:
		return n.Text
	}
	return "null"
}
