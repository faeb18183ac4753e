// Package sariftest holds SARIF against the schema of OASIS, for tests of those who write it.
package sariftest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	official "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address is how the schema calls itself.
const address = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// CheckValid fails a test whose log is not SARIF: it holds it against the schema of OASIS, and against the types of go-sarif, which know no other keys.
func CheckValid(t *testing.T, log string) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(log))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&official.Report{}); err != nil {
		t.Errorf("not SARIF: %v", err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := LoadSchema(t).Validate(document); err != nil {
		t.Error(err)
	}
}

// LoadSchema returns the schema that go-sarif carries in its source.
func LoadSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", reflect.TypeFor[official.Report]().PkgPath()).Output()
	if err != nil {
		t.Fatalf("find the package of go-sarif: %v", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), strings.TrimSpace(string(folder))+"/schema.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	literal := file.Scope.Lookup("schema").Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit)
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(address, document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(address)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
