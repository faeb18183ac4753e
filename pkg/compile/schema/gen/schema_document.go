package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// schemaDocument is a schema as OpenAPI v3 and CRDs write it. A keyword that is not here makes the generator fail, so that a new
// version of a source cannot bring a constraint that we would ignore.
type schemaDocument struct {
	Ref    string `json:"$ref"`
	Type   string `json:"type"`
	Format string `json:"format"`

	Properties           map[string]*schemaDocument `json:"properties"`
	AdditionalProperties *documentOrBool            `json:"additionalProperties"`
	Required             []string                   `json:"required"`
	Items                *schemaDocument            `json:"items"`

	Nullable bool   `json:"nullable"`
	Default  any    `json:"default"`
	Enum     []any  `json:"enum"`
	Pattern  string `json:"pattern"`

	Minimum          *float64 `json:"minimum"`
	Maximum          *float64 `json:"maximum"`
	ExclusiveMinimum bool     `json:"exclusiveMinimum"`
	ExclusiveMaximum bool     `json:"exclusiveMaximum"`
	MinLength        *int     `json:"minLength"`
	MaxLength        *int     `json:"maxLength"`
	MinItems         *int     `json:"minItems"`
	MaxItems         *int     `json:"maxItems"`
	MinProperties    *int     `json:"minProperties"`
	MaxProperties    *int     `json:"maxProperties"`

	AllOf []*schemaDocument `json:"allOf"`
	AnyOf []*schemaDocument `json:"anyOf"`
	OneOf []*schemaDocument `json:"oneOf"`
	Not   *schemaDocument   `json:"not"`

	PreserveUnknown bool      `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString     bool      `json:"x-kubernetes-int-or-string"`
	Embedded        bool      `json:"x-kubernetes-embedded-resource"`
	ListType        string    `json:"x-kubernetes-list-type"`
	ListMapKeys     []string  `json:"x-kubernetes-list-map-keys"`
	Validations     []celRule `json:"x-kubernetes-validations"`

	// What follows describes or directs merges; it refuses nothing.
	Description   string `json:"description"`
	Title         string `json:"title"`
	Example       any    `json:"example"`
	ExternalDocs  any    `json:"externalDocs"`
	GVK           []gvk  `json:"x-kubernetes-group-version-kind"`
	MapType       string `json:"x-kubernetes-map-type"`
	PatchStrategy string `json:"x-kubernetes-patch-strategy"`
	PatchMergeKey string `json:"x-kubernetes-patch-merge-key"`
	Unions        any    `json:"x-kubernetes-unions"`
}

type celRule struct {
	Rule              string `json:"rule"`
	Message           string `json:"message"`
	MessageExpression string `json:"messageExpression"`
	FieldPath         string `json:"fieldPath"`
	Reason            string `json:"reason"`
	OptionalOldSelf   bool   `json:"optionalOldSelf"`
}

type gvk struct{ Group, Version, Kind string }

// apiVersionKind returns the name of a kind as kinds has it.
func (g gvk) apiVersionKind() string {
	if g.Group == "" {
		return g.Version + "/" + g.Kind
	}
	return g.Group + "/" + g.Version + "/" + g.Kind
}

// documentOrBool is a schema, or true for any value.
type documentOrBool struct {
	any    bool
	schema *schemaDocument
}

func (o *documentOrBool) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("true")) || bytes.Equal(data, []byte("false")) {
		return json.Unmarshal(data, &o.any)
	}
	return decodeStrict(data, &o.schema)
}

// decodeStrict decodes JSON and refuses fields that the type lacks.
func decodeStrict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("decode a schema: %w", err)
	}
	return nil
}
