package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

func at(i int) *int { return &i }

func TestReduce(t *testing.T) {
	tests := map[string]struct {
		reason string
		doc    string
		named  map[string]string
		want   []shape.Shape
		err    string
	}{
		"shared": {
			reason: "equal shapes are one, and descriptions do not make them differ",
			doc:    `{"type":"object","properties":{"a":{"type":"string","description":"x"},"b":{"type":"string","description":"y"}}}`,
			want:   []shape.Shape{{Type: "string"}, {Type: "object", Properties: map[string]int{"a": 0, "b": 0}}},
		},
		"default": {
			reason: "the API server fills in a default before it looks for what is missing",
			doc:    `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","default":"x"},"b":{"type":"string"}}}`,
			want: []shape.Shape{
				{Type: "string", Default: "x"}, {Type: "string"},
				{Type: "object", Properties: map[string]int{"a": 0, "b": 1}, Required: []string{"b"}},
			},
		},
		"recursive": {
			reason: "a schema that contains itself is a table like any other",
			doc:    `{"$ref":"#/components/schemas/tree"}`,
			named:  map[string]string{"tree": `{"type":"object","properties":{"below":{"allOf":[{"$ref":"#/components/schemas/tree"}],"default":{}}}}`},
			want:   []shape.Shape{{Type: "object", Properties: map[string]int{"below": 0}}},
		},
		"alternatives": {
			reason: "what is below anyOf does not list all fields",
			doc:    `{"type":"object","anyOf":[{"properties":{"a":{"maximum":1}}},{"required":["b"]}]}`,
			want: []shape.Shape{
				{Open: true, Maximum: func() *float64 { one := 1.0; return &one }()},
				{Open: true, Properties: map[string]int{"a": 0}},
				{Open: true, Required: []string{"b"}},
				{Type: "object", AnyOf: []int{1, 2}},
			},
		},
		"map": {
			reason: "the values of a map have a shape of their own",
			doc:    `{"type":"object","additionalProperties":{"type":"integer"}}`,
			want:   []shape.Shape{{Type: "integer"}, {Type: "object", Values: at(0)}},
		},
		"rules": {
			reason: "rules about a change do not hold for an object that is created",
			doc:    `{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf"},{"rule":"self != ''","message":"m"}]}`,
			want:   []shape.Shape{{Type: "string", Rules: []shape.Rule{{Rule: "self != ''", Message: "m"}}}},
		},
		"unknown keyword": {
			reason: "a constraint that we do not know must not be lost",
			doc:    `{"type":"string","x-kubernetes-colour":"red"}`,
			err:    "x-kubernetes-colour",
		},
		"unknown rule": {
			reason: "a rule that we cannot evaluate must not be lost",
			doc:    `{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf.orValue(self)","optionalOldSelf":true}]}`,
			err:    "optionalOldSelf",
		},
		"missing": {
			reason: "a reference to nothing is a mistake of the source",
			doc:    `{"$ref":"#/components/schemas/gone"}`,
			err:    "gone",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			named := map[string]json.RawMessage{}
			for key, text := range test.named {
				named[key] = json.RawMessage(text)
			}
			r := newReducer(false, named)
			var doc schemaDocument
			err := decodeStrict([]byte(test.doc), &doc)
			if err == nil {
				_, err = r.shapeOf(&doc, false)
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s: want an error with %q, got %v", test.reason, test.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, r.shapes); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}

func TestNativeKindsOfAnotherGroupAreLeftToIt(t *testing.T) {
	file := `{"paths":{"/api/v1/namespaces/{namespace}/pods":{"post":{"x-kubernetes-group-version-kind":{"group":"","version":"v1","kind":"Pod"}}}},
		"components":{"schemas":{
			"pod":{"type":"object","x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Pod"}]},
			"claim":{"type":"object","x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"PersistentVolumeClaim"}]}}}}`
	tables, err := nativeTables([]byte(file), map[string]bool{"v1/Pod": true, "v1/PersistentVolumeClaim": true})
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != 1 || !tables["v1/Pod"].Namespaced || !tables["v1/Pod"].Native {
		t.Errorf("want only the Pod, in a namespace, but: %v", tables)
	}
}
