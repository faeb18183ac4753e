package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// sample is a value with everything that a schema knows, each with the example or the first value of its own.
func sample(root, s *jsonschema.Schema) any {
	s = s.Resolve(root)
	switch {
	case s.Const != "":
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.AnyOf) > 0:
		return sample(root, s.AnyOf[0])
	case slices.Contains(s.Type, "object"):
		all := map[string]any{}
		for _, p := range s.Properties {
			all[p.Name] = sample(root, p.Schema)
		}
		if s.PropertyNames != nil && s.AdditionalProperties != nil {
			name := "any"
			if len(s.PropertyNames.Examples) > 0 {
				name = s.PropertyNames.Examples[0].(string)
			}
			all[name] = sample(root, s.AdditionalProperties)
		}
		return all
	case slices.Contains(s.Type, "array"):
		return []any{sample(root, s.Items)}
	case slices.Contains(s.Type, "integer"):
		return max(1, number(s.Minimum))
	case slices.Contains(s.Type, "boolean"):
		return true
	}
	return "some text"
}

func number(n json.Number) int64 {
	value, _ := n.Int64()
	return value
}

// eachText calls do for every string in a value, with a function that puts another one in its place.
func eachText(value any, put func(any), do func(text string, put func(any))) {
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			eachText(child, func(v any) { value[key] = v }, do)
		}
	case []any:
		for i, child := range value {
			eachText(child, func(v any) { value[i] = v }, do)
		}
	case string:
		do(value, put)
	}
}

// inFolder is where specs of a kind are.
var inFolder = map[string]string{"HardwareProfile": "catalog/a.yaml", "MPIRuntime": "catalog/a.yaml", "Tenant": "tenants/a.yaml", "Cluster": "overlays/a/cluster.yaml"}

// decoded returns what the decoder says about a document.
func decoded(t *testing.T, kind string, document any) []*diag.Diagnostic {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	list := &diag.List{}
	decode.Files([]*source.File{source.NewFile(inFolder[kind], data)}, list)
	return list.Sorted()
}

// TestEmpty: the decoder and an independent validator agree on which strings may be empty, wherever a spec has one.
func TestEmpty(t *testing.T) {
	schemas, refused, allowed := compiled(t), 0, 0
	for _, kind := range jsonschema.Kinds {
		root := kind.Schema()
		document := sample(root, root)
		if found := decoded(t, kind.Name, document); len(found) > 0 {
			t.Fatalf("%s: the sample is wrong: %s: %s", kind.Name, found[0].Span, found[0].Message)
		}
		eachText(document, nil, func(text string, put func(any)) {
			put("")
			ours, theirs := decoded(t, kind.Name, document), schemas[kind.Name].Validate(plain(t, document))
			switch {
			case len(ours) > 0 != (theirs != nil):
				t.Errorf("%s: with nothing for %q the decoder finds %d mistakes, the validator %v", kind.Name, text, len(ours), theirs)
			case theirs != nil:
				refused++
			default:
				allowed++
			}
			put(text)
		})
	}
	t.Logf("%d strings must not be empty, %d may", refused, allowed)
	if refused < 60 || allowed < 5 {
		t.Errorf("%d strings must not be empty, %d may: the samples do not show enough", refused, allowed)
	}
}

// plain is a document as a validator reads it.
func plain(t *testing.T, document any) any {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
