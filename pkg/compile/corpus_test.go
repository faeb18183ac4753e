package compile_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The corpus of wrong specs, testdata/errors/*.txtar, and how to add to it.
//
// A case is specs beside those of testdata/base, which are valid: a file of a case replaces that of the same path. What is wrong is
// announced at the end of the line, with the code and the token that must be underlined:
//
//	podSecurity: privileged # want LS2007 "privileged"
//
// The compiler must find exactly what is announced: line, token and code, nothing more, nothing less. A failure prints the comment
// to paste. Where the token is in the line twice, its column follows: `# want LS2010 "vision"@24`. Where the compiler knows what to write
// instead, a case may ask for that, too: `# want LS2009 "2d" fix "48h"`.
//
// Most cases are small and live with many others in one file, each in a folder with its name:
//
//	-- pod_security_of_its_own/tenants/vision.yaml.edit --
//	  podSecurity: privileged # want LS2007 "privileged"
//
// `.edit` is the file of the base with some lines changed: a line replaces the one with the same indentation and key, a line
// without one is added at the end (where `spec` is). Other endings and names:
//
//	tenants/vision.yaml.gone        the file of the base is not there
//	want                            what cannot be announced beside the offence, a line each: `tenants/a.yaml:2:7 LS1002`, column included,
//	                                `tenants/a.yaml LS1005` for a whole file, `LS3004` for no file
//	cluster                         the name of the only cluster to compile, as with --cluster
//
// A txtar file whose files are in catalog/, tenants/, overlays/ … is one case. Such a case also holds what people see, out/diagnostics;
// `go test ./pkg/compile -update` writes it. Use it for messages that deserve a reader.

// baseFiles are the small valid specs to which a case adds its own files, or replaces those of the same path.
func baseFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"catalog/profile.yaml", "catalog/runtime.yaml", "tenants/vision.yaml", "overlays/local/cluster.yaml"} {
		data, err := os.ReadFile("testdata/base/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

func withBase(t *testing.T, added fstest.MapFS) fstest.MapFS {
	t.Helper()
	files := baseFiles(t)
	for name, file := range added {
		switch target, kind := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name); kind {
		case ".gone":
			delete(files, target)
		case ".edit":
			if files[target] == nil {
				t.Fatalf("%s edits a file that the base does not have", name)
			}
			files[target] = &fstest.MapFile{Data: []byte(edited(string(files[target].Data), string(file.Data)))}
		default:
			files[name] = file
		}
	}
	return files
}

// edited returns a text in which each line of an edit has taken the place of the line with the same indentation and key.
func edited(text, edit string) string {
	base := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	lines := slices.Clone(base)
	for _, line := range strings.Split(strings.TrimSuffix(edit, "\n"), "\n") {
		key, _, isEntry := strings.Cut(line, ":")
		i := slices.IndexFunc(base, func(l string) bool { return isEntry && strings.HasPrefix(l, key+":") })
		if i < 0 {
			lines = append(lines, line)
			continue
		}
		lines[i], base[i] = line, "" // a line is replaced once
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestBase keeps the corpus honest: the mistakes of a case are its own.
func TestBase(t *testing.T) {
	needsSchemas(t)
	if list := diagnose(baseFiles(t), ""); len(list.Sorted()) > 0 {
		t.Errorf("the base does not compile: %s", text(t, list))
	}
}

// needsSchemas skips where a build without schemas says so in every report. `make test` makes them first.
func needsSchemas(t *testing.T) {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
}

// today is the day on which the specs of the corpus are judged.
const today = "2026-11-21"

// diagnose compiles one cluster, or all for "", and returns what was found.
func diagnose(files fstest.MapFS, cluster string) *diag.List {
	_, list := compile.Compile(files, compile.Options{Charts: helm.Renderer{}, Jsonnet: jsonnet.InProcessEvaluator{}, Cluster: cluster, Today: today})
	return list
}

// TestErrors compiles the wrong specs of the corpus.
func TestErrors(t *testing.T) {
	needsSchemas(t)
	golden.Run(t, "testdata/errors", func(t *testing.T, c *golden.Case) {
		cases, single := split(t, c.Files)
		if single {
			c.Output("diagnostics", text(t, judge(t, cases[0])))
			return
		}
		for _, one := range cases {
			t.Run(one.name, func(t *testing.T) { judge(t, one) })
		}
	})
}

// leastCases is how many wrong specs the corpus must hold.
const leastCases = 150

// TestCorpusSize counts the cases, so that the corpus does not shrink unnoticed.
func TestCorpusSize(t *testing.T) {
	count := len(corpus(t))
	t.Logf("%d cases", count)
	if count < leastCases {
		t.Errorf("%d cases, want at least %d", count, leastCases)
	}
}

// corpus returns the cases of all files.
func corpus(t *testing.T) []wrong {
	t.Helper()
	names, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all []wrong
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{}
		for _, f := range archive.Files {
			if !strings.HasPrefix(f.Name, "out/") {
				files[f.Name] = &fstest.MapFile{Data: f.Data}
			}
		}
		cases, _ := split(t, files)
		for _, c := range cases {
			all = append(all, wrong{path.Join(strings.TrimSuffix(filepath.Base(name), ".txtar"), c.name), c.files})
		}
	}
	return all
}

// TestEdits makes every edit that the corpus offers, one at a time: the finding must go, and no file may become unreadable.
func TestEdits(t *testing.T) {
	made := 0
	for _, c := range corpus(t) {
		files := withBase(t, c.files)
		before := diagnose(files, "").Sorted()
		for _, d := range before {
			if d.Edit == nil {
				continue
			}
			made++
			for _, left := range diagnose(withEdit(files, d.Edit), "").Sorted() {
				if left.Message == d.Message && left.Span.String() == d.Span.String() || left.Code == diag.Syntax && len(before) == 1 {
					t.Errorf("%s: %s: after writing `%s` for `%s`: %s", c.name, d.Span, d.Edit.Text, d.Message, left.Message)
				}
			}
		}
	}
	t.Logf("%d edits", made)
	if made < 20 {
		t.Errorf("the corpus offers %d edits only", made)
	}
}

func withEdit(files fstest.MapFS, edit *diag.Edit) fstest.MapFS {
	files = maps.Clone(files)
	name := edit.Span.Path()
	lines := strings.Split(string(files[name].Data), "\n")
	line := []rune(lines[edit.Span.Line-1])
	start := edit.Span.Column - 1
	if edit.Span.Line == 1 && strings.HasPrefix(lines[0], "\ufeff") {
		start++ // columns do not count the byte order mark
	}
	lines[edit.Span.Line-1] = string(line[:start]) + edit.Text + string(line[start+edit.Span.Length:])
	files[name] = &fstest.MapFile{Data: []byte(strings.Join(lines, "\n"))}
	return files
}

// wrong is one case: specs, and what is wrong with them.
type wrong struct {
	name  string
	files fstest.MapFS
}

// folders are those in which the files of a single case may be.
var folders = []string{"catalog", "tenants", "overlays", "templates",
	"charts", "components", "policies", "want", "cluster"}

// split returns the cases of a file by name, or the only one.
func split(t *testing.T, files fstest.MapFS) (cases []wrong, single bool) {
	t.Helper()
	byName := map[string]fstest.MapFS{}
	for name, file := range files {
		first, rest, _ := strings.Cut(name, "/")
		if slices.Contains(folders, first) {
			first, rest = "", name
		}
		if byName[first] == nil {
			byName[first] = fstest.MapFS{}
		}
		byName[first][rest] = file
	}
	for name, files := range byName {
		cases = append(cases, wrong{name, files})
	}
	slices.SortFunc(cases, func(a, b wrong) int { return strings.Compare(a.name, b.name) })
	if len(cases) == 0 {
		t.Fatal("no files")
	}
	if cases[0].name == "" && len(cases) > 1 {
		t.Fatalf("some files are in a folder of their case, others are not: %s", cases[1].name)
	}
	return cases, cases[0].name == ""
}

// judge compiles a case and holds what is found against what is announced.
func judge(t *testing.T, c wrong) *diag.List {
	t.Helper()
	files := withBase(t, c.files)
	want := announced(t, files)
	cluster := ""
	if file := files["cluster"]; file != nil {
		cluster = strings.TrimSpace(string(file.Data))
	}
	delete(files, "want")
	delete(files, "cluster")
	list := diagnose(files, cluster)
	for _, d := range list.Sorted() {
		i := slices.IndexFunc(want, func(a announcement) bool { return a.matches(d) })
		if i < 0 {
			t.Errorf("not announced, `%s`:\n%s: %s", paste(d), d.Span, d.Message)
			continue
		}
		want = slices.Delete(want, i, i+1)
		inFile(t, d)
		if entry, _ := diag.EntryOf(d.Code); entry.Severity != d.Severity {
			t.Errorf("%s is documented as %q, and was reported as %s", d.Code, entry.Severity, d.Severity)
		}
	}
	for _, a := range want {
		t.Errorf("not found: %s", a)
	}
	return list
}

// inFile asks that the places of a finding exist: renderers cut what is outside, but a stage that reports it is wrong.
func inFile(t *testing.T, d *diag.Diagnostic) {
	t.Helper()
	var places diag.Places
	spans := []source.Span{d.Span}
	for _, r := range d.Related {
		spans = append(spans, r.Span)
	}
	for _, span := range spans {
		if p := places.PlaceOf(span); p.Line != span.Line || p.Column != span.Column {
			t.Errorf("%s is outside of the file: %s", span, d.Message)
		}
	}
}

// announcement is a mistake that a case says it has.
type announcement struct {
	file string
	// line is 0 for the whole file.
	line int
	// column and token are 0 and "" where they are not announced.
	column int
	token  string
	code   string
	// fix is the text that the finding offers instead of the token, "" where that is not announced.
	fix string
}

func (a announcement) String() string {
	return fmt.Sprintf("%s:%d:%d %s %q, written as %q", a.file, a.line, a.column, a.code, a.token, a.fix)
}

func (a announcement) matches(d *diag.Diagnostic) bool {
	return a.file == d.Span.Path() && a.line == d.Span.Line && a.code == string(d.Code) &&
		(a.fix == "" || d.Edit != nil && a.fix == d.Edit.Text) && (a.column == 0 || a.column == d.Span.Column) && (a.token == "" || a.token == diag.Underlined(d.Span))
}

// paste returns the announcement of a finding.
func paste(d *diag.Diagnostic) string {
	if d.Span.Line == 0 {
		return strings.TrimSpace(d.Span.Path() + " " + string(d.Code))
	}
	token := diag.Underlined(d.Span)
	if strings.TrimSpace(token) == "" {
		return fmt.Sprintf("%s %s", d.Span, d.Code)
	}
	marker := fmt.Sprintf("# want %s %s", d.Code, quoted(token))
	line, _, _ := strings.Cut(d.Span.File.Line(d.Span.Line), "# want ")
	if strings.Count(line, token) > 1 {
		marker += fmt.Sprintf("@%d", d.Span.Column)
	}
	if d.Edit != nil && d.Edit.Span == d.Span {
		marker += " fix " + quoted(d.Edit.Text)
	}
	return marker
}

func quoted(token string) string {
	if strings.ContainsAny(token, `"\`) && !strings.Contains(token, "`") {
		return "`" + token + "`"
	}
	return strconv.Quote(token)
}

var (
	marker = regexp.MustCompile("# want (LS\\d{4}) (\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)(@\\d+)?(?: fix (\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`))?")
	listed = regexp.MustCompile(`^(?:(\S+?)(?::(\d+):(\d+))? )?(LS\d{4})$`)
)

// announced returns what the comments and the list of a case announce.
func announced(t *testing.T, files fstest.MapFS) []announcement {
	t.Helper()
	var all []announcement
	for name, file := range files {
		for i, line := range strings.Split(string(file.Data), "\n") {
			if name == "want" {
				all = append(all, fromList(t, line)...)
				continue
			}
			all = append(all, fromLine(t, name, i+1, line)...)
		}
	}
	return all
}

func fromLine(t *testing.T, file string, number int, line string) []announcement {
	t.Helper()
	text, comments, found := strings.Cut(line, "# want ")
	matches := marker.FindAllStringSubmatch(line, -1)
	if found && len(matches) != strings.Count(comments, "# want ")+1 {
		t.Fatalf("%s:%d: write `# want LS2003 \"token\"`: %s", file, number, line)
	}
	var all []announcement
	for _, m := range matches {
		a := announcement{file: file, line: number, code: m[1]}
		a.token, _ = strconv.Unquote(m[2])
		a.column, _ = strconv.Atoi(strings.TrimPrefix(m[3], "@"))
		a.fix, _ = strconv.Unquote(m[4])
		if a.column == 0 && strings.Count(text, a.token) != 1 {
			t.Fatalf("%s:%d: `%s` is not once in the line: add its column, `@7`", file, number, a.token)
		}
		all = append(all, a)
	}
	return all
}

func fromList(t *testing.T, line string) []announcement {
	t.Helper()
	if line == "" {
		return nil
	}
	m := listed.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("write `tenants/a.yaml:2:7 LS1002`, `tenants/a.yaml LS1005` or `LS3004`: %s", line)
	}
	a := announcement{file: m[1], code: m[4]}
	a.line, _ = strconv.Atoi(m[2])
	a.column, _ = strconv.Atoi(m[3])
	return []announcement{a}
}

func text(t *testing.T, list *diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := list.WriteText(&b, diag.Palette{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
