package review

import (
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
