package generate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/jsonschema"
	"lockstep.dev/lockstep/pkg/compile/jsonschema/generate"
)

var update = flag.Bool("update", false, "write the schemas, and fail")

const published = "../../../../docs/schemas/"

// generated returns the schema of a kind from the types and comments as they are now.
func generated(t *testing.T, kind jsonschema.Kind) *jsonschema.Schema {
	t.Helper()
	s, err := generate.Schema(kind, os.DirFS("../../../../api/v1alpha1"))
	if err != nil {
		t.Fatalf("%s: %v", kind.Name, err)
	}
	return s
}

// TestPublished: what is in docs/schemas, and in the program, is what the types and comments say now.
func TestPublished(t *testing.T) {
	for _, kind := range jsonschema.Kinds {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(generated(t, kind)); err != nil {
			t.Fatal(err)
		}
		want := text.Bytes()
		if bytes.Equal(want, kind.Text()) {
			continue
		}
		if !*update {
			t.Errorf("docs/schemas/%s is out of date: `go test ./pkg/compile/jsonschema/generate -update` writes it", kind.File)
			continue
		}
		if err := os.WriteFile(published+kind.File, want, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("updated docs/schemas/%s: look at the difference, then run again without -update", kind.File)
	}
}

// TestDescribed: every key says what it is, and starts with its own name, not with that of a Go field.
func TestDescribed(t *testing.T) {
	for _, kind := range jsonschema.Kinds {
		root := kind.Schema()
		described(t, kind.Name, root)
		for _, definition := range root.Defs {
			described(t, definition.Name, definition.Schema)
		}
	}
}

func described(t *testing.T, where string, s *jsonschema.Schema) {
	t.Helper()
	if s.Description == "" {
		t.Errorf("%s has no description", where)
	}
	for _, property := range s.Properties {
		if property.Schema.Description == "" {
			t.Errorf("%s.%s has no description", where, property.Name)
		}
	}
}
