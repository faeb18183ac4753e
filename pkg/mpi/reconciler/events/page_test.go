package events

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// TestEveryEventIsDocumented compares the table of events in docs/observability.md with what the code can send: reasons
// of conditions as Send words them, and those that Warn and PostOnce send. Reasons of failures have a page each, which
// package diagnose makes.
func TestEveryEventIsDocumented(t *testing.T) {
	want := map[string]bool{}
	for _, reason := range slices.Concat(constants(t, "../../job", "mpi.Reason"), constants(t, ".", "Reason")) {
		want[reason] = true
	}
	for reason := range uneventful {
		delete(want, string(reason))
	}
	for reason, event := range milestones {
		delete(want, string(reason))
		want[event] = true
	}
	for _, e := range diagnose.ReasonDocs() {
		delete(want, string(e.Reason))
		if _, err := os.Stat(filepath.Join("../../../../docs/failures", string(e.Reason)+".md")); err != nil {
			t.Errorf("%s has no page: %v", e.Reason, err)
		}
	}
	page, err := os.ReadFile("../../../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	_, section, _ := strings.Cut(string(page), "| event |")
	section, _, _ = strings.Cut(section, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)`[ ,]").FindAllStringSubmatch(section, -1) {
		got[row[1]] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("the table of events is not what the code sends: -sent, +documented:\n%s", diff)
	}
}

// TestEventsAreSentByNameOnly keeps reasons out of the code that sends: one that is a text there is in no list.
func TestEventsAreSentByNameOnly(t *testing.T) {
	for _, file := range append(sources(t, ".."), sources(t, "../*")...) {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				if f, is := node.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "Eventf" {
					if _, literal := node.Args[3].(*ast.BasicLit); literal {
						t.Errorf("an event has a reason without a name: %v", node.Args[3])
					}
				}
			case *ast.KeyValueExpr:
				key, is := node.Key.(*ast.Ident)
				if _, literal := node.Value.(*ast.BasicLit); is && literal && key.Name == "Reason" {
					t.Errorf("an event has a reason without a name: %v", node.Value)
				}
			}
			return true
		})
	}
}

// constants returns the values of the constants of a type, and of none without one.
func constants(t *testing.T, dir, kind string) []string {
	t.Helper()
	var values []string
	for _, file := range sources(t, dir) {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, is := node.(*ast.ValueSpec)
			if !is || spec.Type == nil || typeName(spec.Type) != kind {
				return true
			}
			for _, value := range spec.Values {
				if literal, is := value.(*ast.BasicLit); is {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, text)
				}
			}
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("found no %s in %s", kind, dir)
	}
	return values
}

func typeName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	}
	return ""
}

func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
