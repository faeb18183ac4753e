package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockstep.dev/lockstep/docs/diagnostics"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestReportSchema: the JSON of a report is what docs/diagnostics/report.schema.json says, in every shape that a finding can have, and
// the schema refuses what is not.
func TestReportSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/diagnostics/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	file := source.NewFile("tenants/a.yaml", []byte("clusters: [lokal]\n"))
	list := &diag.List{}
	list.Errorf(diag.NoCluster, source.Span{}, "nowhere")
	list.Warnf(diag.NothingRead, source.WholeFile(file), "a whole file").Helpf("an action")
	list.Errorf(diag.DanglingReference, file.Token(1, 12, 5), "a token").Also(file.Token(1, 1, 8), "here").
		Notef("a fact").Suggest("lokal", []string{"local"})
	list.Warnf(diag.ClusterRangeOpen, file.Token(1, 12, 5), "waived").Waived = &diag.Waiver{Reason: "because", Until: "2027-03-31"}
	for name, r := range map[string]findingsReport{
		"empty":    newFindingsReport(&diag.List{}, nil),
		"findings": newFindingsReport(list, nil),
		"built":    newFindingsReport(&diag.List{}, []clusterSummary{{Name: "local", Objects: 15, Written: 7}}),
	} {
		var b bytes.Buffer
		if err := cli.WriteJSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document(t, b.Bytes())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"unknown key":    `{"errors": 0, "warnings": 0, "diagnostics": [], "clusters": [], "x": 1}`,
		"no diagnostics": `{"errors": 0, "warnings": 0, "clusters": []}`,
		"bad code":       `{"errors": 1, "warnings": 0, "clusters": [], "diagnostics": [{"code": "X", "severity": "error", "message": "m", "url": "https://a"}]}`,
		"line only":      `{"errors": 1, "warnings": 0, "clusters": [], "diagnostics": [{"code": "LS1001", "severity": "error", "message": "m", "url": "https://a", "file": "f", "line": 1}]}`,
	} {
		if schema.Validate(document(t, []byte(text))) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func document(t *testing.T, data []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestLocate: services that know the checkout get paths relative to it, whatever --root and --out are.
func TestLocate(t *testing.T) {
	cases := map[string]struct{ reason, root, out, path, want, uri string }{
		"here":     {"the root is where the command runs", ".", "", "tenants/a.yaml", "tenants/a.yaml", "tenants/a.yaml"},
		"below":    {"a root below it", "./platform/", "dist", "tenants/a.yaml", "platform/tenants/a.yaml", "platform/tenants/a.yaml"},
		"absolute": {"an absolute root", "/srv/platform", "", "tenants/a.yaml", "/srv/platform/tenants/a.yaml", "file:///srv/platform/tenants/a.yaml"},
		"escaped":  {"a URI has no blanks", ".", "", "tenants/a b.yaml", "tenants/a b.yaml", "tenants/a%20b.yaml"},
		"colon":    {"a colon is no scheme", ".", "", "a:b.yaml", "a:b.yaml", "./a:b.yaml"},
		"output":   {"a file of the output is not below the root", "platform", "dist", "dist/local/a.yaml", "dist/local/a.yaml", "dist/local/a.yaml"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := reportOptions{input: &compiling.Input{Root: c.root}, out: c.out}
			if got := r.pathInCheckout(c.path); got != c.want {
				t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
			}
			if got := r.checkoutURI(c.path); got != c.uri {
				t.Errorf("%s: got URI %s, want %s", c.reason, got, c.uri)
			}
		})
	}
}

// TestPages: every code has its page in the program.
func TestPages(t *testing.T) {
	for _, e := range diag.Entries() {
		page, found := diagnostics.Page(string(e.Code))
		data, err := os.ReadFile(filepath.Join("../../docs/diagnostics", string(e.Code)+".md"))
		if err != nil || !found || cmp.Diff(string(data), page) != "" {
			t.Errorf("%s: %v, found %v", e.Code, err, found)
		}
	}
	var records []codeRecord
	var out, errs bytes.Buffer
	if code := run([]string{"codes", "-o", "json"}, &out, &errs); code != cli.ExitFine {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &records); err != nil || len(records) != len(diag.Entries()) {
		t.Errorf("%d codes are listed, %v", len(records), err)
	}
}
