package compile_test

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// The pages about codes, docs/diagnostics, are made of the entries of package diag and of one example per code,
// testdata/errors/codes/LSxxxx.txtar: a text that says what the example shows, the specs that are `wrong/`, and those that are
// `right/`. Both stand beside the base like the cases of the corpus (corpus_test.go), `.edit` included. `go test ./pkg/compile
// -run TestPages -update` writes the pages.
const (
	pages    = "../../docs/diagnostics"
	examples = "testdata/errors/codes"
)

// TestCodes holds the style of codes: each is numbered once and documented by its constant and its entry.
func TestCodes(t *testing.T) {
	declared := declaredCodes(t)
	seen := map[string]string{}
	for name, code := range declared {
		if !regexp.MustCompile(`^LS[1-7]\d{3}$`).MatchString(code) {
			t.Errorf("%s is not LS and four digits: %s", name, code)
		}
		if other, taken := seen[code]; taken {
			t.Errorf("%s and %s are both %s", other, name, code)
		}
		seen[code] = name
		if _, found := diag.EntryOf(diag.Code(code)); !found {
			t.Errorf("%s, %s, has no entry in diag/entries.go, or the entries are not in order", name, code)
		}
	}
	for _, e := range diag.Retired() {
		if name := seen[string(e.Code)]; name != "" {
			t.Errorf("%s has the code %s, which is retired", name, e.Code)
		}
	}
	for _, e := range diag.Entries() {
		if seen[string(e.Code)] == "" {
			t.Errorf("there is an entry for %s, and no constant", e.Code)
		}
		if e.Severity != diag.Error && e.Severity != diag.Warning {
			t.Errorf("%s has the severity %q", e.Code, e.Severity)
		}
		if e.Title == "" || strings.HasSuffix(e.Title, ".") || len(e.Title) > 70 {
			t.Errorf("the title of %s is no heading: %q", e.Code, e.Title)
		}
		for _, sentence := range []string{e.Why, e.Do} {
			if !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s is not explained in sentences: %q", e.Code, sentence)
			}
		}
	}
}

// declaredCodes returns the constants of package diag by name, and fails for one whose comment does not say what it is.
func declaredCodes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "diag/codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	for _, declaration := range file.Decls {
		group, isGroup := declaration.(*ast.GenDecl)
		if !isGroup || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			name := value.Names[0].Name
			if !strings.HasPrefix(value.Doc.Text(), name+" is ") {
				t.Errorf("the comment of %s does not say what it is", name)
			}
			codes[name] = strings.Trim(value.Values[0].(*ast.BasicLit).Value, `"`)
		}
	}
	return codes
}

// TestPages executes the example of each code: what is wrong gives the code and no other, what is right gives nothing. The pages
// must show exactly that.
func TestPages(t *testing.T) {
	needsSchemas(t)
	want := map[string]string{"README.md": index()}
	for _, entry := range diag.Entries() {
		t.Run(string(entry.Code), func(t *testing.T) {
			want[string(entry.Code)+".md"] = page(t, entry)
		})
	}
	if t.Failed() {
		return
	}
	got := readPages(t)
	if diff := cmp.Diff(want, got); diff != "" {
		if flag.Lookup("update").Value.String() == "true" {
			writePages(t, want, got)
		}
		t.Errorf("docs/diagnostics is stale, `go test ./pkg/compile -run TestPages -update` renews it (-want +got):\n%s", diff)
	}
}

// readPages returns the generated pages as they are.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	pagesOf, err := filepath.Glob(pages + "/LS*.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range append(pagesOf, filepath.Join(pages, "README.md")) {
		data, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(file)] = string(data)
	}
	return got
}

func writePages(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name := range got {
		if _, wanted := want[name]; !wanted {
			if err := os.Remove(filepath.Join(pages, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(pages, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// example is the example of a code.
type example struct {
	comment      string
	wrong, right fstest.MapFS
	// cluster is the argument of --cluster, or "".
	cluster string
}

func readExample(t *testing.T, code diag.Code) example {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join(examples, string(code)+".txtar"))
	if err != nil {
		t.Fatalf("the code has no example: %v", err)
	}
	e := example{comment: strings.TrimSpace(string(archive.Comment)), wrong: fstest.MapFS{}, right: fstest.MapFS{}}
	if e.comment == "" {
		t.Errorf("the example does not say what it shows")
	}
	for _, f := range archive.Files {
		side, name, _ := strings.Cut(f.Name, "/")
		file := &fstest.MapFile{Data: f.Data}
		switch side {
		case "wrong":
			e.wrong[name] = file
		case "right":
			e.right[name] = file
		case "both":
			e.wrong[name], e.right[name] = file, file
		case "cluster":
			e.cluster = strings.TrimSpace(string(f.Data))
		default:
			t.Fatalf("%s is neither in wrong/ nor in right/ nor in both/", f.Name)
		}
	}
	return e
}

// page returns the page of a code.
func page(t *testing.T, entry diag.Entry) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from pkg/compile/diag/entries.go and pkg/compile/%s/%s.txtar by `go test ./pkg/compile -run TestPages -update`. -->\n", examples, entry.Code)
	fmt.Fprintf(&b, "# %s: %s\n\n", entry.Code, entry.Title)
	fmt.Fprintf(&b, "Severity: %s. %s %s\n\n", entry.Severity, consequence[entry.Severity], waiving(entry))
	fmt.Fprintf(&b, "**Why.** %s\n\n**What to do.** %s\n", entry.Why, entry.Do)
	if entry.NoExample != "" {
		if _, err := os.Stat(filepath.Join(examples, string(entry.Code)+".txtar")); err == nil {
			t.Errorf("there is an example, although the entry says why there is none")
		}
		fmt.Fprintf(&b, "\n## Example\n\n%s\n", entry.NoExample)
		return b.String()
	}
	e := readExample(t, entry.Code)
	list := diagnose(withBase(t, e.wrong), e.cluster)
	if len(list.Sorted()) == 0 {
		t.Error("nothing is wrong with the wrong specs")
	}
	for _, d := range list.Sorted() {
		if d.Waived != nil {
			continue // an example may have to have another finding, and accepts it
		}
		if d.Code != entry.Code || d.Severity != entry.Severity {
			t.Errorf("the wrong specs give %s[%s], want %s[%s]: %s", d.Severity, d.Code, entry.Severity, entry.Code, d.Message)
		}
	}
	if right := diagnose(withBase(t, e.right), e.cluster); len(right.Sorted()) > 0 {
		t.Errorf("something is wrong with the right specs:\n%s", text(t, right))
	}
	fmt.Fprintf(&b, "\n## Example\n\n%s\n", e.comment)
	showFiles(t, &b, e.wrong)
	fmt.Fprintf(&b, "\n`runtime-compiler check` prints:\n\n```text\n%s```\n", text(t, list))
	fmt.Fprint(&b, "\n## Corrected\n")
	showFiles(t, &b, changed(e.wrong, e.right))
	return b.String()
}

func waiving(entry diag.Entry) string {
	switch {
	case !entry.CanBeWaived():
		return "It cannot be waived."
	case entry.ByCluster():
		return "A [waiver](../waivers.md) in the spec of the cluster, and in no other, can accept it for a while."
	}
	return "A [waiver](../waivers.md) in the spec can accept it for a while."
}

var consequence = map[diag.Severity]string{
	diag.Error:   "Nothing is written.",
	diag.Warning: "Output is written, unless `--fail-on warning` is given.",
}

// changed returns the files of right that differ from those of wrong.
func changed(wrong, right fstest.MapFS) fstest.MapFS {
	files := fstest.MapFS{}
	for name, file := range right {
		if wrong[name] == nil || string(wrong[name].Data) != string(file.Data) {
			files[name] = file
		}
	}
	return files
}

func showFiles(t *testing.T, b *strings.Builder, files fstest.MapFS) {
	t.Helper()
	all := withBase(t, files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		target, isGone := strings.CutSuffix(name, ".gone")
		if isGone {
			fmt.Fprintf(b, "\nThere is no `%s`.\n", target)
			continue
		}
		target = strings.TrimSuffix(name, ".edit")
		data := strings.ToValidUTF8(string(all[target].Data), "\ufffd")
		if !strings.HasSuffix(data, "\n") {
			data += "\n"
		}
		fmt.Fprintf(b, "\n`%s`\n```%s\n%s```\n", target, strings.TrimPrefix(filepath.Ext(target), "."), data)
	}
}

// index returns the list of the codes.
func index() string {
	var b strings.Builder
	b.WriteString("<!-- Generated by `go test ./pkg/compile -run TestPages -update`. -->\n# Diagnostics\n\n")
	b.WriteString("Every mistake that `runtime-compiler` reports has a code with a page of its own, which says why it is a mistake, what to do, and shows an\n" +
		"example with the tool's own words; a test runs every example. `runtime-compiler codes` lists the codes and shows the pages. The numbers never\n" +
		"change. The output for tools is described in [formats.md](formats.md).\n")
	group := byte(0)
	for _, e := range diag.Entries() {
		if digit := string(e.Code)[2]; digit != group {
			group = digit
			fmt.Fprintf(&b, "\n## %s\n\n| code | severity | mistake |\n|---|---|---|\n", groups[digit])
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", e.Code, e.Code, e.Severity, e.Title)
	}
	b.WriteString("\n## Retired\n\nOlder versions reported these. They are never used again.\n\n| code | mistake | why it is gone |\n|---|---|---|\n")
	for _, e := range diag.Retired() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Code, e.Title, e.Why)
	}
	return b.String()
}

var groups = map[byte]string{'1': "Files and YAML", '2': "One document", '3': "Names", '4': "Rules", '5': "Components and objects", '6': "Output", '7': "Proofs"}
