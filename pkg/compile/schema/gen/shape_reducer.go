package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// reducer turns the documents of one kind into a table.
type reducer struct {
	// native is true within types of the API server itself. The metadata of a custom resource is one.
	native bool
	// named are the documents that a $ref may name, without the path in front.
	named map[string]json.RawMessage

	shapes []shape.Shape
	byName map[string]int
	byText map[string]int
}

func newReducer(native bool, named map[string]json.RawMessage) *reducer {
	return &reducer{native: native, named: named, byName: map[string]int{}, byText: map[string]int{}}
}

const refPrefix = "#/components/schemas/"

// formats are native types with rules of their own in package schema, by which it knows them.
var formats = map[string]string{
	"io.k8s.apimachinery.pkg.api.resource.Quantity":      shape.Quantity,
	"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": shape.LabelSelector,
	"io.k8s.api.core.v1.PodSpec":                         shape.PodSpec,
}

// shapeOfReference returns the shape of a named document.
func (r *reducer) shapeOfReference(ref string) (int, error) {
	name := strings.TrimPrefix(ref, refPrefix)
	if at, known := r.byName[name]; known {
		return at, nil
	}
	data, known := r.named[name]
	if !known {
		return 0, fmt.Errorf("%s names no schema", ref)
	}
	var doc schemaDocument
	if err := decodeStrict(data, &doc); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	// The place is taken before it is filled: a schema may contain itself.
	at := len(r.shapes)
	r.shapes = append(r.shapes, shape.Shape{})
	r.byName[name] = at
	outside := r.native
	r.native = true
	filled, err := r.newShape(&doc, false)
	r.native = outside
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	switch format := formats[name]; format {
	case "":
	case shape.Quantity:
		// A string or a number; the format says that, and more.
		filled = shape.Shape{Format: format}
	default:
		filled.Format = format
	}
	r.shapes[at] = filled
	return at, nil
}

// intern returns the place of a shape, the same for equal ones.
func (r *reducer) intern(s shape.Shape) int {
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("a shape is plain data, but: %v", err))
	}
	at, known := r.byText[string(text)]
	if !known {
		at = len(r.shapes)
		r.shapes = append(r.shapes, s)
		r.byText[string(text)] = at
	}
	return at
}

// shapeOf returns the place of a document's shape. A partial document is one under allOf, anyOf, oneOf or not: it constrains values
// and does not list all fields.
func (r *reducer) shapeOf(doc *schemaDocument, partial bool) (int, error) {
	if ref := doc.onlyReference(); ref != "" {
		return r.shapeOfReference(ref)
	}
	s, err := r.newShape(doc, partial)
	if err != nil {
		return 0, err
	}
	return r.intern(s), nil
}

// onlyReference returns the $ref of a document that says nothing else. Native kinds wrap a $ref in allOf to give it a description and a
// default. The default does not matter there: it is a Go zero value.
func (d *schemaDocument) onlyReference() string {
	if len(d.AllOf) == 1 && d.AllOf[0].Ref != "" && d.Type == "" {
		return d.AllOf[0].Ref
	}
	return d.Ref
}

func (r *reducer) newShape(doc *schemaDocument, partial bool) (shape.Shape, error) {
	s := shape.Shape{
		Type: doc.Type, Format: doc.Format, IntOrString: doc.IntOrString || doc.Format == "int-or-string",
		Nullable: doc.Nullable, Embedded: doc.Embedded, Default: doc.Default, Pattern: doc.Pattern,
		Minimum: doc.Minimum, Maximum: doc.Maximum, ExclusiveMinimum: doc.ExclusiveMinimum, ExclusiveMaximum: doc.ExclusiveMaximum,
		MinLength: doc.MinLength, MaxLength: doc.MaxLength, MinItems: doc.MinItems, MaxItems: doc.MaxItems,
		MinProperties: doc.MinProperties, MaxProperties: doc.MaxProperties,
		Unique: doc.ListType == "set" || doc.ListType == "map", Keys: doc.ListMapKeys,
		Enum: enumTexts(doc.Enum), Open: doc.allowsUnnamedFields(r.native, partial),
	}
	if s.IntOrString {
		s.Type, s.Format = "", ""
	}
	for _, fill := range []func(*schemaDocument, *shape.Shape, bool) error{r.addFields, r.addItems, r.addAlternatives, addRules} {
		if err := fill(doc, &s, partial); err != nil {
			return s, err
		}
	}
	return s, nil
}

// allowsUnnamedFields reports whether a map may have fields that the document does not name. A native kind with no field at all is a Go type that
// keeps whatever it is given.
func (d *schemaDocument) allowsUnnamedFields(native, partial bool) bool {
	nameless := native && d.Type == "object" && len(d.Properties) == 0 && d.AdditionalProperties == nil
	return partial || nameless || d.PreserveUnknown || d.AdditionalProperties != nil && d.AdditionalProperties.any
}

func (r *reducer) addFields(doc *schemaDocument, s *shape.Shape, partial bool) error {
	if doc.AdditionalProperties != nil && doc.AdditionalProperties.schema != nil {
		at, err := r.shapeOf(doc.AdditionalProperties.schema, partial)
		if err != nil {
			return err
		}
		s.Values = &at
	}
	// Sorted, so that places are the same in every run.
	for _, name := range slices.Sorted(maps.Keys(doc.Properties)) {
		at, err := r.shapeOf(doc.Properties[name], partial)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if s.Properties == nil {
			s.Properties = map[string]int{}
		}
		s.Properties[name] = at
	}
	for _, name := range doc.Required {
		// The API server fills in a default before it looks for what is missing.
		if property := doc.Properties[name]; property == nil || property.Default == nil {
			s.Required = append(s.Required, name)
		}
	}
	slices.Sort(s.Required)
	return nil
}

func (r *reducer) addItems(doc *schemaDocument, s *shape.Shape, partial bool) error {
	if doc.Items == nil {
		return nil
	}
	at, err := r.shapeOf(doc.Items, partial)
	s.Items = &at
	return err
}

func (r *reducer) addAlternatives(doc *schemaDocument, s *shape.Shape, _ bool) (err error) {
	if s.IntOrString {
		// What remains there are the two types, which the flag says already.
		return nil
	}
	for _, list := range []struct {
		from []*schemaDocument
		to   *[]int
	}{{doc.AllOf, &s.AllOf}, {doc.AnyOf, &s.AnyOf}, {doc.OneOf, &s.OneOf}} {
		for _, alternative := range list.from {
			at, err := r.shapeOf(alternative, true)
			if err != nil {
				return err
			}
			*list.to = append(*list.to, at)
		}
	}
	if doc.Not != nil {
		at, err := r.shapeOf(doc.Not, true)
		s.Not = &at
		return err
	}
	return nil
}

func addRules(doc *schemaDocument, s *shape.Shape, _ bool) error {
	for _, rule := range doc.Validations {
		switch {
		case rule.OptionalOldSelf || rule.FieldPath != "":
			return fmt.Errorf("the rule `%s` uses optionalOldSelf or fieldPath, which package schema does not know", rule.Rule)
		case !strings.Contains(rule.Rule, "oldSelf"):
			s.Rules = append(s.Rules, shape.Rule{Rule: rule.Rule, Message: rule.Message})
		}
	}
	return nil
}

// enumTexts returns values as shape.Shape.Enum has them.
func enumTexts(values []any) []string {
	var out []string
	for _, value := range values {
		text, isText := value.(string)
		if !isText {
			data, err := json.Marshal(value)
			if err != nil {
				panic(fmt.Sprintf("an enum is plain data, but: %v", err))
			}
			text = string(data)
		}
		out = append(out, text)
	}
	return out
}
