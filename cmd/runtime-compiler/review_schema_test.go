package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

const reviewSchema = "../../docs/changes/review.schema.json"

// validate says how JSON breaks a schema. The validator is none of ours.
func validate(data []byte, schemaFile string) error {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return schema.Validate(value)
}

// valid is a command of scripts: valid FILE SCHEMA.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if err := validate([]byte(ts.ReadFile(args[0])), ts.MkAbs(args[1])); (err != nil) != neg {
		ts.Fatalf("%v", err)
	}
}

// TestReviewSchemaIsComplete: the closed lists of the schema are those of the program.
func TestReviewSchemaIsComplete(t *testing.T) {
	data, err := os.ReadFile(reviewSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Entry struct {
				Properties struct {
					Consequence, Severity, Jobs struct{ Enum []string }
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	fields := schema.Defs.Entry.Properties
	if diff := cmp.Diff(texts(rule.Consequences()), fields.Consequence.Enum); diff != "" {
		t.Errorf("consequences (-program +schema):\n%s", diff)
	}
	if diff := cmp.Diff(texts(rule.Severities()), fields.Severity.Enum); diff != "" {
		t.Errorf("severities (-program +schema):\n%s", diff)
	}
	if diff := cmp.Diff(texts(rule.JobsImpacts()), fields.Jobs.Enum); diff != "" {
		t.Errorf("jobs (-program +schema):\n%s", diff)
	}
}

func texts[T any](list []T) []string {
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = fmt.Sprint(item)
	}
	return words
}

// TestReviewSchemaRefuses: the schema is closed. What the program does not write, it does not allow.
func TestReviewSchemaRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":    `{}`,
		"other keys": `{"compared": {"from": "a", "to": "b", "other": 1}, "verdict": "", "worst": "info", "entries": [], "findings": {"errors": 0, "new": [], "fixed": []}, "clusters": [], "totals": {"units": 0, "objects": 0, "added": 0, "removed": 0, "changed": 0, "renamed": 0, "values": 0, "bySeverity": {"critical": 0, "warning": 0, "notice": 0, "info": 0}}}`,
	} {
		if validate([]byte(text), reviewSchema) == nil {
			t.Errorf("%s: the schema takes %s", name, text)
		}
	}
}
