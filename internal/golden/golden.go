// Package golden runs tests whose cases are txtar files: input files, and sections `out/<name>` with what the code under test
// must produce.
//
// The text before the first file says what the case shows and why; a case without it fails. A section that is missing means that
// the output must be empty. `go test -update` writes what was produced into the files, and fails, so that a pipeline cannot pass
// by updating.
package golden

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what was produced into the golden files, and fail")

// prefix marks the sections that hold expected output.
const prefix = "out/"

// Case is one txtar file during its test.
type Case struct {
	// Name is the file's name without extension.
	Name string
	// Comment is the text before the first file.
	Comment string
	// Files are the inputs.
	Files fstest.MapFS

	produced map[string]string
}

// Output records what the code under test produced under a name. Empty output needs no section.
func (c *Case) Output(name, text string) {
	if text != "" {
		c.produced[name] = text
	}
}

// Run runs a test for every txtar file of a folder. It fails if there is none.
func Run(t *testing.T, folder string, test func(t *testing.T, c *Case)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no txtar files in %s (error: %v)", folder, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) { File(t, file, test) })
	}
}

// File runs a test for one txtar file.
func File(t *testing.T, file string, test func(t *testing.T, c *Case)) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatalf("read case: %v", err)
	}
	c, want := readCase(file, archive)
	if c.Comment == "" {
		t.Errorf("%s does not say what it shows and why", file)
	}
	test(t, c)
	diff := cmp.Diff(want, c.produced)
	switch {
	case diff == "":
	case *update:
		updateCase(t, file, archive, c.produced)
	default:
		t.Errorf("output differs (-want +got), `go test -update` accepts it:\n%s", diff)
	}
}

func readCase(file string, archive *txtar.Archive) (*Case, map[string]string) {
	c := &Case{
		Name:     strings.TrimSuffix(filepath.Base(file), ".txtar"),
		Comment:  strings.TrimSpace(string(archive.Comment)),
		Files:    fstest.MapFS{},
		produced: map[string]string{},
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		if name, isOutput := strings.CutPrefix(f.Name, prefix); isOutput {
			want[name] = string(f.Data)
			continue
		}
		c.Files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return c, want
}

func updateCase(t *testing.T, file string, archive *txtar.Archive, produced map[string]string) {
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, prefix) })
	for _, name := range slices.Sorted(maps.Keys(produced)) {
		archive.Files = append(archive.Files, txtar.File{Name: prefix + name, Data: []byte(produced[name])})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatalf("update case: %v", err)
	}
	t.Errorf("updated %s: look at the difference, then run again without -update", file)
}
