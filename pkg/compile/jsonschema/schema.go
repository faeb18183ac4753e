// Package jsonschema holds the JSON Schemas (draft 2020-12) of the spec kinds: what editors and other tools know about a spec without
// running the compiler.
//
// A schema says what the decoder says about the shape of one document: keys, types, ranges, allowed values, forms of strings. It may
// be wider than the decoder where JSON Schema has no words for a rule, such as bits after the prefix of an address range; it is
// never narrower for what somebody would write. Package generate makes the schemas from the types and comments of package v1alpha1,
// and holds both to that.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/docs/schemas"
)

// Dialect is the draft that the schemas are written in.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Kind is a spec kind and the file of its schema.
type Kind struct {
	// Name is the kind as a spec spells it, Word as people say it on a command line, File the schema's file name.
	Name, Word, File string
}

// Kinds are the spec kinds, in the order in which a repository gets them.
var Kinds = []Kind{
	{v1alpha1.HardwareProfileKind, "profile", "hardware-profile.json"},
	{v1alpha1.MPIRuntimeKind, "runtime", "mpi-runtime.json"},
	{v1alpha1.TenantKind, "tenant", "tenant.json"},
	{v1alpha1.ClusterKind, "cluster", "cluster.json"},
}

// KindOf returns the kind with a name or word, in any case.
func KindOf(text string) (Kind, bool) {
	for _, k := range Kinds {
		if strings.EqualFold(text, k.Name) || strings.EqualFold(text, k.Word) {
			return k, true
		}
	}
	return Kind{}, false
}

// Text returns the schema as it is published.
func (k Kind) Text() []byte {
	data, err := schemas.Files.ReadFile(k.File)
	if err != nil {
		panic(fmt.Sprintf("the schema of %s is not embedded: %v", k.Name, err))
	}
	return data
}

// parsed holds the schemas that somebody asked for: most commands need none.
var parsed sync.Map

// Schema returns the schema, which nobody may change.
func (k Kind) Schema() *Schema {
	if known, found := parsed.Load(k.Name); found {
		return known.(*Schema)
	}
	s := &Schema{}
	if err := json.Unmarshal(k.Text(), s); err != nil {
		panic(fmt.Sprintf("the schema of %s: %v", k.Name, err)) // a test reads all of them
	}
	known, _ := parsed.LoadOrStore(k.Name, s)
	return known.(*Schema)
}

// Schema is a JSON Schema, as far as specs need it. Its fields have the names and the meaning of the keywords.
type Schema struct {
	Dialect     string `json:"$schema,omitempty"`
	ID          string `json:"$id,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Ref         string `json:"$ref,omitempty"`
	Type        Types  `json:"type,omitempty"`
	Const       string `json:"const,omitempty"`
	Enum        []any  `json:"enum,omitempty"`
	Default     any    `json:"default,omitempty"`
	Examples    []any  `json:"examples,omitempty"`

	Minimum   json.Number `json:"minimum,omitempty"`
	Maximum   json.Number `json:"maximum,omitempty"`
	MinLength int         `json:"minLength,omitempty"`
	MaxLength int         `json:"maxLength,omitempty"`
	Pattern   string      `json:"pattern,omitempty"`
	// PatternErrorMessage is what the YAML language server says about a string without the pattern; validators ignore it.
	PatternErrorMessage string `json:"patternErrorMessage,omitempty"`

	AnyOf []*Schema `json:"anyOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`

	Properties           Properties `json:"properties,omitempty"`
	Required             []string   `json:"required,omitempty"`
	PropertyNames        *Schema    `json:"propertyNames,omitempty"`
	MinProperties        int        `json:"minProperties,omitempty"`
	MaxProperties        int        `json:"maxProperties,omitempty"`
	AdditionalProperties *Schema    `json:"additionalProperties,omitempty"`

	Items       *Schema `json:"items,omitempty"`
	MinItems    int     `json:"minItems,omitempty"`
	UniqueItems bool    `json:"uniqueItems,omitempty"`

	Defs Properties `json:"$defs,omitempty"`

	// Nothing makes the schema `false`: there is no value for it.
	Nothing bool `json:"-"`
}

// schemaWithoutMethods has the fields of a Schema without its methods.
type schemaWithoutMethods Schema

// MarshalJSON writes the schema; nothing in it needs HTML's escapes.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.Nothing {
		return []byte("false"), nil
	}
	return encodeWithoutEscapes((*schemaWithoutMethods)(s))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Schema) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		*s = Schema{Nothing: true}
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	return decoder.Decode((*schemaWithoutMethods)(s))
}

func encodeWithoutEscapes(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}

// Types are the allowed types; one of them is written as a string, as people do.
type Types []string

// MarshalJSON writes one type as a string.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads a string or a list.
func (t *Types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// Property is a schema under a name.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties keep their order: that of the declaration, in which people should read them.
type Properties []Property

// Get returns the schema with a name, or nil.
func (p Properties) Get(name string) *Schema {
	for _, property := range p {
		if property.Name == name {
			return property.Schema
		}
	}
	return nil
}

// MarshalJSON writes an object.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, property := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encodeWithoutEscapes(property.Name)
		if err != nil {
			return nil, err
		}
		value, err := encodeWithoutEscapes(property.Schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps its order.
func (p *Properties) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var s Schema
		if err := decoder.Decode(&s); err != nil {
			return err
		}
		*p = append(*p, Property{Name: fmt.Sprint(name), Schema: &s})
	}
	if _, err := decoder.Token(); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// Resolve returns what a `$ref` refers to, with the description beside the reference; other schemas as they are. Root holds the
// definitions.
func (s *Schema) Resolve(root *Schema) *Schema {
	name, found := strings.CutPrefix(s.Ref, "#/$defs/")
	if !found {
		return s
	}
	target := *root.Defs.Get(name)
	if s.Description != "" {
		target.Description = s.Description
	}
	return &target
}
