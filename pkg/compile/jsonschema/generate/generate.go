// Package generate makes the JSON Schemas of the spec kinds from the Go types of package v1alpha1, from the rules in their tags and
// from their doc comments. The program does not contain it: its test writes docs/schemas and fails when they are out of date.
package generate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
)

// home is the beginning of the schemas' `$id`.
const home = "https://lockstep.dev/schemas/v1alpha1/"

var types = map[string]reflect.Type{
	v1alpha1.HardwareProfileKind: reflect.TypeFor[v1alpha1.HardwareProfile](),
	v1alpha1.MPIRuntimeKind:      reflect.TypeFor[v1alpha1.MPIRuntime](),
	v1alpha1.TenantKind:          reflect.TypeFor[v1alpha1.Tenant](),
	v1alpha1.ClusterKind:         reflect.TypeFor[v1alpha1.Cluster](),
}

// Schema returns the schema of a kind. Package is the folder of package v1alpha1.
func Schema(kind jsonschema.Kind, folder fs.FS) (*jsonschema.Schema, error) {
	comments, err := readComments(folder)
	if err != nil {
		return nil, err
	}
	g := &schemaGenerator{comments: comments, defs: map[string]*jsonschema.Schema{}}
	s := g.structSchema(types[kind.Name])
	s.Dialect, s.ID, s.Title = jsonschema.Dialect, home+kind.File, kind.Name
	s.Description = comments.types[kind.Name]
	*s.Properties.Get("apiVersion") = jsonschema.Schema{Description: "`apiVersion` is always " + v1alpha1.APIVersion + ".", Const: v1alpha1.APIVersion}
	*s.Properties.Get("kind") = jsonschema.Schema{Description: "`kind` says what the document is.", Const: kind.Name}
	s.Defs = g.definitions()
	return s, g.err
}

// schemaGenerator collects the structs of a kind; each becomes one definition.
type schemaGenerator struct {
	comments *docComments
	defs     map[string]*jsonschema.Schema
	// err is the first thing that has no schema.
	err error
}

func (g *schemaGenerator) definitions() jsonschema.Properties {
	var all jsonschema.Properties
	for name, s := range g.defs {
		all = append(all, jsonschema.Property{Name: name, Schema: s})
	}
	slices.SortFunc(all, func(a, b jsonschema.Property) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// structSchema returns the schema of a struct: its keys and no others.
func (g *schemaGenerator) structSchema(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: jsonschema.Types{"object"}, AdditionalProperties: &jsonschema.Schema{Nothing: true}}
	fields := decode.Fields(t)
	keys := map[string]string{}
	for _, f := range fields {
		keys[f.Go.Name] = f.Key
	}
	s.Description = fieldNamesAsKeys(g.comments.types[t.Name()], keys)
	for _, f := range fields {
		value := g.valueSchema(f.Go.Type, f.Rule)
		value.Description = g.fieldDescription(t, f, keys)
		if f.Required {
			s.Required = append(s.Required, f.Key)
		}
		s.Properties = append(s.Properties, jsonschema.Property{Name: f.Key, Schema: value})
	}
	return s
}

// fieldDescription returns the comment of a field. Metadata and spec have none: their types say it.
func (g *schemaGenerator) fieldDescription(t reflect.Type, f decode.Field, keys map[string]string) string {
	comment := g.comments.fields[t.Name()][f.Go.Name]
	if comment == "" && f.Go.Type.Kind() == reflect.Struct {
		comment = g.comments.types[f.Go.Type.Name()]
		return fieldNamesAsKeys(comment, map[string]string{f.Go.Type.Name(): f.Key})
	}
	return fieldNamesAsKeys(comment, keys)
}

var (
	quantityType    = reflect.TypeFor[resource.Quantity]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
	anyMapType      = reflect.TypeFor[map[string]any]()
)

// valueSchema returns the schema of a value with a rule, as package decode reads it.
func (g *schemaGenerator) valueSchema(t reflect.Type, rule decode.Rule) *jsonschema.Schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return g.valueSchema(t.Elem(), rule)
	case t == quantityType:
		return quantitySchema(rule)
	case t == intOrStringType:
		return intOrStringSchema(rule)
	case t == anyMapType:
		return &jsonschema.Schema{Type: jsonschema.Types{"object"}}
	case t.Kind() == reflect.Struct:
		return g.structOrText(t)
	case t.Kind() == reflect.Slice:
		return g.listSchema(t, rule)
	case t.Kind() == reflect.Map:
		return g.mapSchema(t, rule)
	case t.Kind() == reflect.String:
		return g.stringSchema(rule)
	case t.Kind() == reflect.Bool:
		return &jsonschema.Schema{Type: jsonschema.Types{"boolean"}, Default: boolOrNil(rule.Default)}
	}
	return integerSchema(t, rule)
}

// structOrText returns the schema of a struct, or of the text that may stand for it.
func (g *schemaGenerator) structOrText(t reflect.Type) *jsonschema.Schema {
	for _, f := range decode.Fields(t) {
		if f.Shorthand {
			rule := f.Rule
			rule.Required = true
			named := g.referenceTo(t)
			g.defs[t.Name()].MinProperties, g.defs[t.Name()].MaxProperties = 1, 1
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{g.stringSchema(rule), named}}
		}
	}
	return g.referenceTo(t)
}

func (g *schemaGenerator) referenceTo(t reflect.Type) *jsonschema.Schema {
	if _, found := g.defs[t.Name()]; !found {
		g.defs[t.Name()] = nil // specs are finite, but a type may be used twice
		g.defs[t.Name()] = g.structSchema(t)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + t.Name()}
}

// listSchema returns a list's schema. The rules about strings are about its items, which are never empty.
func (g *schemaGenerator) listSchema(t reflect.Type, rule decode.Rule) *jsonschema.Schema {
	item := rule
	item.Required, item.Default, item.MinItems, item.UniqueItems = true, "", 0, false
	return &jsonschema.Schema{
		Type: jsonschema.Types{"array"}, Items: g.valueSchema(t.Elem(), item), MinItems: rule.MinItems, UniqueItems: rule.UniqueItems,
	}
}

// mapSchema returns the schema of a map from strings.
func (g *schemaGenerator) mapSchema(t reflect.Type, rule decode.Rule) *jsonschema.Schema {
	name := g.stringSchema(decode.Rule{Required: true, Format: rule.KeyFormat})
	name.Type = nil // a key is always a string
	value := rule
	value.Required, value.Format, value.MinItems, value.Default = false, rule.ValueFormat, 0, ""
	entry := g.valueSchema(t.Elem(), value)
	if t.Elem() == quantityType {
		entry.Examples = []any{"8"} // devices
	}
	return &jsonschema.Schema{Type: jsonschema.Types{"object"}, PropertyNames: name, MinProperties: rule.MinItems, AdditionalProperties: entry}
}

func (g *schemaGenerator) stringSchema(rule decode.Rule) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: jsonschema.Types{"string"}}
	for _, allowed := range rule.Enum {
		s.Enum = append(s.Enum, allowed)
	}
	if rule.Default != "" {
		s.Default = rule.Default
	}
	if rule.Format != "" {
		form, known := forms[rule.Format]
		if !known && g.err == nil {
			g.err = fmt.Errorf("the format `%s` has no pattern: add it to `forms`", rule.Format)
		}
		form.apply(rule.Format, s)
	}
	if rule.Required && len(rule.Enum) == 0 {
		s.MinLength = 1
	}
	return s
}

func boolOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text == "true"
}

func numberOrNil(text string) any {
	if text == "" {
		return nil
	}
	return json.Number(text)
}

// integerSchema has the range of its rule, else that of its type.
func integerSchema(t reflect.Type, rule decode.Rule) *jsonschema.Schema {
	limit := uint64(1) << (t.Bits() - 1)
	return &jsonschema.Schema{
		Type:    jsonschema.Types{"integer"},
		Default: numberOrNil(rule.Default),
		Minimum: json.Number(cmp.Or(rule.Minimum, "-"+strconv.FormatUint(limit, 10))),
		Maximum: json.Number(cmp.Or(rule.Maximum, strconv.FormatUint(limit-1, 10))),
	}
}

func intOrStringSchema(rule decode.Rule) *jsonschema.Schema {
	words := &jsonschema.Schema{}
	for _, allowed := range rule.Enum {
		words.Enum = append(words.Enum, allowed)
	}
	numbers := &jsonschema.Schema{Type: jsonschema.Types{"integer"}, Minimum: json.Number(rule.Minimum), Maximum: json.Number(rule.Maximum)}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{numbers, words}, Default: numberOrNil(rule.Default)}
}

// quantitySchema is a number, or a string with a unit. The least amount of a number is exact; of strings the pattern refuses what is
// usual: negative ones, and memory without its unit.
func quantitySchema(rule decode.Rule) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: jsonschema.Types{"string", "number"}, Pattern: `^[+-]?` + amount + `$`, Examples: []any{"16Gi"}}
	s.PatternErrorMessage = "must be an amount such as `500m`, `2` or `16Gi`"
	if rule.Default != "" {
		s.Default = rule.Default
	}
	if rule.Maximum != "" {
		most := resource.MustParse(rule.Maximum)
		s.Maximum = json.Number(strconv.FormatInt(most.Value(), 10))
	}
	if rule.Minimum == "" {
		return s
	}
	least := resource.MustParse(rule.Minimum)
	s.Minimum = json.Number(least.AsDec().String())
	switch mebibyte := resource.MustParse("1Mi"); {
	case least.Cmp(mebibyte) >= 0:
		s.Pattern = `^\+?` + memory + `$`
		s.PatternErrorMessage = "must be an amount of memory such as `16Gi`, at least " + rule.Minimum + ": without unit it is in bytes, and `m` is a thousandth"
	case rule.Minimum == "1m": // cores
		s.Examples = []any{"2"}
		fallthrough
	default:
		s.Pattern = `^\+?` + amount + `$`
	}
	return s
}
