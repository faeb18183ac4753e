package sarif

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockstep.dev/lockstep/internal/sariftest"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// findings has a diagnostic of each shape: nowhere, about a whole file, with other places, with an edit, twice one code.
func findings() *diag.List {
	file := source.NewFile("tenants/a b.yaml", []byte("clusters: [lokal]\nruntimes: [mpl]\n"))
	list := &diag.List{}
	list.Errorf(diag.NoCluster, source.Span{}, "there is no Cluster spec")
	list.Warnf(diag.NothingRead, source.WholeFile(file), "the file holds no spec")
	list.Errorf(diag.DanglingReference, file.Token(1, 12, 5), "there is no Cluster `lokal`").Suggest("lokal", []string{"local"})
	list.Errorf(diag.DanglingReference, file.Token(2, 12, 3), "there is no MPIRuntime `mpl`").
		Also(file.Token(1, 1, 8), "clusters here").Also(source.Span{}, "nowhere").Notef("a fact").Helpf("an action")
	return list
}

func locate(path string) string { return strings.ReplaceAll(path, " ", "%20") }

// TestWrite compares with testdata/findings.sarif, and validates that against the schema of OASIS (in package go-sarif).
func TestWrite(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, findings(), Options{Version: "1.2.3", Locate: locate}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/findings.sarif")
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s\nall:\n%s", diff, b.String())
	}
	sariftest.CheckValid(t, b.String())
}

// TestWriteEmpty: a run without findings is a run, with no results.
func TestWriteEmpty(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, &diag.List{}, Options{Locate: locate}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("no empty results in %s", b.String())
	}
	sariftest.CheckValid(t, b.String())
}

// TestEveryRule: the text of every code makes a valid rule.
func TestEveryRule(t *testing.T) {
	list := &diag.List{Docs: "https://docs.example.com"}
	for _, e := range diag.Entries() {
		list.Errorf(e.Code, source.Span{}, "x")
	}
	var b strings.Builder
	if err := Write(&b, list, Options{Locate: locate}); err != nil {
		t.Fatal(err)
	}
	for _, e := range diag.Entries() {
		if want := `"helpUri": "` + e.Code.URL(list.Docs) + `"`; !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	sariftest.CheckValid(t, b.String())
}

// TestOfficialSchema: the schema refuses what is not SARIF, so that passing it means something.
func TestOfficialSchema(t *testing.T) {
	for _, text := range []string{
		`{"version": "2.1.0"}`,
		`{"version": "2.2.0", "runs": []}`,
		`{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"message": {}}]}]}`,
		`{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "colour": "red"}}}]}`,
	} {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if sariftest.LoadSchema(t).Validate(document) == nil {
			t.Errorf("accepted: %s", text)
		}
	}
}
