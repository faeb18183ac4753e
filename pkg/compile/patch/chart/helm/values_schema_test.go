package helm_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// rendered renders a chart with a dependency `sub`, each with a schema of its own, or none for "".
func rendered(schema, sub string) chart.Rendered {
	files := []chart.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: app\nversion: 0.1.0\ndependencies: [{name: sub, version: 0.1.0}]\n")},
		{Name: "values.yaml", Data: []byte("replicas: two\nsub: {replicas: two}\n")},
		{Name: "templates/a.yaml", Data: []byte("a: {{ .Values.replicas }}\n")},
		{Name: "charts/sub/Chart.yaml", Data: []byte("apiVersion: v2\nname: sub\nversion: 0.1.0\n")},
	}
	for name, text := range map[string]string{"values.schema.json": schema, "charts/sub/values.schema.json": sub} {
		if text != "" {
			files = append(files, chart.File{Name: name, Data: []byte(text)})
		}
	}
	return helm.Renderer{}.Render([]chart.Chart{{Files: files, Release: "app", Namespace: "apps", Kubernetes: "1.36"}})[0]
}

// TestSchemaReadsNothing: the schema of a chart nobody has reviewed reads no file of this machine and asks no server, however it refers
// to them, in the chart or in its dependencies.
func TestSchemaReadsNothing(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"const": "s3cret"}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, []byte(`{"const": "s3cret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := "file://" + filepath.Dir(file) + "/"
	for name, schema := range map[string]string{
		"file":             `{"$ref": "file://` + file + `"}`,
		"server":           `{"$ref": "` + server.URL + `/secret.json"}`,
		"nested":           `{"properties": {"replicas": {"anyOf": [{"type": "integer"}, {"$ref": "file://` + file + `#"}]}}}`,
		"in definitions":   `{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "` + server.URL + `"}}}`,
		"dynamic":          `{"$dynamicRef": "file://` + file + `"}`,
		"dynamic, server":  `{"$dynamicRef": "` + server.URL + `#a"}`,
		"metaschema":       `{"$schema": "` + server.URL + `/meta.json"}`,
		"metaschema, file": `{"$schema": "file://` + file + `"}`,
		"relative":         `{"$id": "` + folder + `values.json", "$ref": "secret.json"}`,
		"relative, server": `{"$id": "` + server.URL + `/values.json", "properties": {"replicas": {"$ref": "secret.json"}}}`,
		"old draft":        `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"replicas": {"$ref": "file://` + file + `"}}}`,
		"older draft":      `{"$schema": "http://json-schema.org/draft-04/schema#", "id": "` + folder + `x.json", "$ref": "secret.json"}`,
		"beside the chart": `{"$ref": "other.json"}`,
		"name":             `{"$ref": "urn:example:anything"}`,
	} {
		for where, got := range map[string]chart.Rendered{"chart": rendered(schema, ""), "dependency": rendered("", schema)} {
			if !strings.Contains(got.Failed, "references must begin with `#`") || strings.Contains(got.Failed, "s3cret") {
				t.Errorf("%s, %s: got %+v", name, where, got)
			}
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
}

// TestSchema: schemas that keep to themselves judge the values as they do in Helm.
func TestSchema(t *testing.T) {
	for name, c := range map[string]struct{ schema, sub, want string }{
		"none":               {"", "", ""},
		"right":              {`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/a", "$defs": {"a": {"required": ["replicas"]}}}`, "", ""},
		"wrong":              {`{"properties": {"replicas": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"type": "integer"}}}`, "", "app:\n- at '/replicas': got string, want integer"},
		"wrong in a subpart": {"", `{"properties": {"replicas": {"type": "integer"}}}`, "sub:\n- at '/replicas': got string, want integer"},
		"no schema":          {`{"type": 1}`, "", "app:\n"},
		"no JSON":            {`{`, "", "app:\n"},
	} {
		got := rendered(c.schema, c.sub)
		if (got.Failed == "") != (c.want == "") || !strings.Contains(got.Failed, c.want) {
			t.Errorf("%s: got %+v, want %q", name, got, c.want)
		}
	}
}
