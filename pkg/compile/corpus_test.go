package compile_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

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
	files := baseFiles(t)
	for name, file := range added {
		files[name] = file
	}
	return files
}

// TestBase keeps the corpus honest: the mistakes of a case are its own.
func TestBase(t *testing.T) {
	clusters, list := compile.Compile(baseFiles(t), compile.Options{})
	if list.Errors()+list.Warnings() > 0 || len(clusters) != 1 {
		t.Errorf("the base does not compile: %d clusters, %v", len(clusters), text(t, list))
	}
}

// TestErrors compiles wrong specs. Each mistake is announced beside the offence, `# ERROR code "regexp"` or
// `# WARNING code "regexp"`; what people see of it, position and caret included, is in out/diagnostics.
func TestErrors(t *testing.T) {
	golden.Run(t, "testdata/errors", func(t *testing.T, c *golden.Case) {
		files := withBase(t, c.Files)
		clusters, list := compile.Compile(files, compile.Options{})
		if list.Errors() > 0 && len(clusters) > 0 {
			t.Errorf("%d clusters were compiled in spite of errors", len(clusters))
		}
		expectAnnounced(t, announced(files), list)
		c.Output("diagnostics", text(t, list))
	})
}

type announcement struct {
	file     string
	line     int
	severity diag.Severity
	code     diag.Code
	message  *regexp.Regexp
}

func (a announcement) String() string {
	return fmt.Sprintf("%s:%d: %s %s %q", a.file, a.line, a.severity, a.code, a.message)
}

func (a announcement) matches(d *diag.Diagnostic) bool {
	return a.file == d.Span.Path() && a.line == d.Span.Line && a.severity == d.Severity && a.code == d.Code && a.message.MatchString(d.Message)
}

var marker = regexp.MustCompile(`# (ERROR|WARNING) (LS\d{4}) "((?:[^"\\]|\\.)*)"`)

func announced(files fstest.MapFS) []announcement {
	var all []announcement
	for name, file := range files {
		for i, line := range strings.Split(string(file.Data), "\n") {
			for _, m := range marker.FindAllStringSubmatch(line, -1) {
				pattern := strings.NewReplacer("(", `\(`, ")", `\)`, "[", `\[`, "+", `\+`).Replace(m[3])
				all = append(all, announcement{
					file: name, line: i + 1, severity: diag.Severity(strings.ToLower(m[1])), code: diag.Code(m[2]),
					message: regexp.MustCompile(pattern),
				})
			}
		}
	}
	return all
}

// expectAnnounced pairs announcements and findings one to one. Findings about a whole file have no line to announce them on.
func expectAnnounced(t *testing.T, want []announcement, list *diag.List) {
	t.Helper()
	for _, d := range list.Sorted() {
		if d.Span.Line == 0 {
			continue
		}
		found := false
		for i, a := range want {
			if a.matches(d) {
				want = append(want[:i], want[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("not announced: %s: %s %s %s", d.Span, d.Severity, d.Code, d.Message)
		}
	}
	for _, a := range want {
		t.Errorf("not found: %s", a)
	}
}

func text(t *testing.T, list *diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := list.WriteText(&b, diag.Palette{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
