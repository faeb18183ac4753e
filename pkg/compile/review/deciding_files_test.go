package review

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// FuzzDecidingFiles: whatever a pipeline and its scripts hold, the review reads them in time, and no specs that they
// only mention.
func FuzzDecidingFiles(f *testing.F) {
	for _, text := range []string{
		"include: 'ci/**.yml'", "include: [{local: \xff*.yml}]", ".a: &a [*a, '*.yml', *a]\ninclude: *a", "cd tools; cd ci; make -C .. .git/config",
		"uses: ./", "uses: ./../../tools", "$(dirname \"$0\")/../../../x.sh", "include: '../.git/*.yml'", "cat tenants/a.yml", "include: '/**/**/**/**/**/*.yml'",
	} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, pipeline, script string) {
		began := time.Now()
		all := readDecidingFiles(fstest.MapFS{
			".gitlab-ci.yml": {Data: []byte(pipeline)}, "ci/a.yml": {Data: []byte(pipeline)}, "tools/a.sh": {Data: []byte(script)},
			"tools/action.yml": {Data: []byte(script)}, "tools/ci/Makefile": {Data: []byte(script)}, "tenants/a.sh": {Data: []byte(script)},
		})
		if all[".gitlab-ci.yml"] == nil || all["tenants/a.sh"] != nil {
			t.Errorf("read %d files", len(all))
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// listings counts how often the top of a repository is listed.
type listings struct {
	fstest.MapFS
	n *int
}

func (l listings) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "." {
		*l.n++
	}
	return l.MapFS.ReadDir(name)
}

// TestManyPatterns: a pull request cannot keep its review busy with includes.
func TestManyPatterns(t *testing.T) {
	var pipeline strings.Builder
	pipeline.WriteString("include:\n")
	for i := range 20_000 {
		fmt.Fprintf(&pipeline, "- '*%d.yml'\n", i)
	}
	n := 0
	all := readDecidingFiles(listings{fstest.MapFS{
		".gitlab-ci.yml": {Data: []byte(pipeline.String())}, "a7.yml": {Data: []byte("a: 1")},
	}, &n})
	if all["a7.yml"] == nil || n > 2 {
		t.Errorf("the top was listed %d times, and %d files were read", n, len(all))
	}
}
