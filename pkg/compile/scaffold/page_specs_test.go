package scaffold_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/format"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/scaffold"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The form of the dashboard writes runtimes that `fmt` leaves as they are and `check` accepts. The tests of the page
// keep the file.
func TestThePageWritesSpecs(t *testing.T) {
	text, err := os.ReadFile("../../../web/src/runtimes/specs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.ReadFile("../../../catalog/profiles/cpu-ethernet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	base := gpus()
	base["catalog/profiles/cpu-ethernet.yaml"] = &fstest.MapFile{Data: profile}
	specs := strings.Split(string(text), "---\n")
	if len(specs) != 3 {
		t.Fatalf("%d specs, want 3", len(specs))
	}
	for _, spec := range specs {
		const path = "catalog/runtimes/of-page.yaml"
		formatted, err := format.File(source.NewFile(path, []byte(spec)))
		if err != nil || string(formatted) != spec {
			t.Errorf("%v: fmt makes\n%s\nof\n%s", err, formatted, spec)
		}
		written := []scaffold.File{{Path: path, Data: []byte(spec)}}
		for _, found := range scaffold.FindingsWith(base, written, compile.Options{Charts: helm.Renderer{}}).Sorted() {
			t.Errorf("%s: %s %s", found.Severity, found.Code, found.Message)
		}
	}
}
