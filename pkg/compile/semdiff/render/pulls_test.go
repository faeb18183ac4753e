package render

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/review"
	"lockstep.dev/lockstep/pkg/compile/schema"
)

// Pull requests are testdata/pulls/*.txtar: changes of the repository in ../testdata/base, as the corpus of semdiff has them: a file, or
// an `.edit` whose hunks of `-` lines are replaced by the `+` lines that follow.

// today is before the waivers of the pull requests end.
const today = "2026-11-21"

var pullCompared = ComparedStates{From: "main", FromHash: "4f1c2a9be07d5c11", To: "pull request", ToHash: "9d07b3e1a2c4f588"}

var pullLinks = Links{
	After:  "https://git.example.com/platform/mpi/blob/9d07b3e1/{path}#L{line}",
	Before: "https://git.example.com/platform/mpi/blob/4f1c2a9b/{path}#L{line}",
	Full:   "https://ci.example.com/review.html",
}

// TestPulls: what reviewers read about three realistic pull requests. docs/guide/review.md has the same.
func TestPulls(t *testing.T) {
	golden.Run(t, "testdata/pulls", func(t *testing.T, c *golden.Case) {
		report := &reviewed(t, c.Files).Report
		c.Output("text", written(t, func(b *strings.Builder) error { return Text(b, report, pullCompared, diag.Palette{}) }))
		c.Output("markdown", written(t, func(b *strings.Builder) error { return Markdown(b, report, pullCompared, pullLinks) }))
	})
}

func written(t testing.TB, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// reviewed compares the base with what a pull request makes of it.
func reviewed(t testing.TB, files fstest.MapFS) *review.Result {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	before := fstest.MapFS{}
	root := "../testdata/base"
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		before[filepath.ToSlash(name)] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	after := maps.Clone(before)
	for name, file := range files {
		target, isEdit := strings.CutSuffix(name, ".edit")
		switch {
		case isEdit:
			after[target] = &fstest.MapFile{Data: []byte(edited(t, name, string(before[target].Data), string(file.Data)))}
		case strings.Contains(name, "/"):
			after[name] = file
		}
	}
	result, err := review.Compare(before, after, review.Options{Compile: compile.Options{Today: today}})
	if err != nil || !result.Compared() {
		for _, d := range append(result.Before.Sorted(), result.After.Sorted()...) {
			if d.Severity == diag.Error && d.Waived == nil {
				t.Errorf("%s: %s", d.Span, d.Message)
			}
		}
		t.Fatalf("the pull request does not compile: %v", err)
	}
	return &result
}

// edited replaces the `-` lines of each hunk by the `+` lines that follow.
func edited(t testing.TB, name, text, edit string) string {
	t.Helper()
	var old, later []string
	flush := func() {
		was, is := strings.Join(old, "\n")+"\n", strings.Join(later, "\n")+"\n"
		if strings.Count(text, was) != 1 {
			t.Fatalf("%s: what it replaces is in the file %d times:\n%s", name, strings.Count(text, was), was)
		}
		text, old, later = strings.Replace(text, was, is, 1), nil, nil
	}
	for _, line := range strings.Split(strings.TrimSuffix(edit, "\n"), "\n") {
		if line[0] == '-' && len(later) > 0 {
			flush()
		}
		if line[0] == '-' {
			old = append(old, line[1:])
		} else {
			later = append(later, line[1:])
		}
	}
	flush()
	return text
}
