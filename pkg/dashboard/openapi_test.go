package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/client-go/rest"
)

// The document names every operation, and its schemas compile and refuse other answers.
func TestTheDocumentDescribesTheAnswers(t *testing.T) {
	s := New(context.Background(), "v0", nil, DefaultLimits)
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/openapi.json", nil))
	document, err := jsonschema.UnmarshalJSON(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	paths := document.(map[string]any)["paths"].(map[string]any)
	for _, r := range s.api() {
		method, path, _ := strings.Cut(r.pattern, " ")
		if operations, is := paths[path].(map[string]any); !is || operations[strings.ToLower(method)] == nil {
			t.Errorf("%s is not described", r.pattern)
		}
	}
	const job = `{"name": "a", "namespace": "b", "uid": "1", "phase": "Running",
		"times": {"created": "2026-01-01T00:00:00Z"}, "runtime": {"kind": "k", "name": "n", "mpi": true}}`
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("api.json", document); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"ItemsOfJob":    `{"withheld": [], "items": [` + job + `]}`,
		"Detail":        `{"withheld": [], "job": ` + job + `}`,
		"ItemsOfstring": `{"items": ["a"], "withheld": [{"what": "b", "why": "c"}]}`,
		"Failure":       `{"error": {"code": 403, "reason": "Forbidden", "message": "no"}}`,
	} {
		schema, err := compiler.Compile("api.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var right any
		if err := json.Unmarshal([]byte(text), &right); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(right); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if schema.Validate(map[string]any{}) == nil {
			t.Errorf("%s takes an answer without its fields", name)
		}
	}
}

// A page of another site cannot set the header.
func TestChangesNeedTheHeader(t *testing.T) {
	s := New(context.Background(), "v0", nil, DefaultLimits)
	for _, action := range []string{"suspend", "resume", "delete"} {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/api/v1/trainjobs/a/b/actions/"+action, nil))
		if answer.Code != http.StatusForbidden || !strings.Contains(answer.Body.String(), "NoActionHeader") {
			t.Errorf("%s: %d %s", action, answer.Code, answer.Body)
		}
	}
}

func TestNamesThatNoAPIServerTakesAreRefused(t *testing.T) {
	user := func(*http.Request) (User, error) {
		return User{Key: "a", Config: &rest.Config{Host: "http://127.0.0.1:1"}}, nil
	}
	s := New(context.Background(), "v0", user, DefaultLimits)
	for _, path := range []string{"a/b%2Fc", "a/..%2Fx", "A/b", "a/" + strings.Repeat("x", 300), "a/%00"} {
		for _, rest := range []string{"", "/events", "/logs", "/stream"} {
			answer := httptest.NewRecorder()
			s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/trainjobs/"+path+rest, nil))
			if answer.Code != http.StatusBadRequest {
				t.Errorf("%s%s: %d %s", path, rest, answer.Code, answer.Body)
			}
		}
	}
}

// Two types with one name would describe each other's answers.
func TestNoTwoTypesShareASchema(t *testing.T) {
	known := map[string]reflect.Type{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() { //nolint:exhaustive // others have no parts
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(of.Elem())
		case reflect.Struct:
			name := schemaName(of)
			if known[name] == of {
				return
			} else if known[name] != nil {
				t.Errorf("%s and %s share a schema", known[name], of)
			}
			known[name] = of
			for field := range of.Fields() {
				walk(field.Type)
			}
		}
	}
	for _, r := range New(context.Background(), "v0", nil, DefaultLimits).api() {
		if r.answer != nil {
			walk(reflect.TypeOf(r.answer))
		}
	}
}
