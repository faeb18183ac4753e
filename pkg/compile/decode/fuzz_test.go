package decode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// FuzzFiles feeds anything to the decoder. It must not panic or hang, must say something about a document that it drops, and
// every place that it names must exist.
func FuzzFiles(f *testing.F) {
	for _, pattern := range []string{"../testdata/base/*/*.yaml", "../testdata/errors/*.txtar", "../../../*/*.yaml", "../../../*/*/*.yaml"} {
		seeds, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, seed := range seeds {
			data, err := os.ReadFile(seed)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("kind: Tenant\nspec: {quota: {cpu: 1e999999999}}\n"))
	f.Add([]byte("kind: Cluster\nspec: {components: [{values: {a: .nan, b: 2020-01-01, c: !!str 1}}]}\n"))
	f.Add([]byte("\xff\xfe"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list := &diag.List{}
		for _, d := range Files([]*source.File{source.NewFile("f.yaml", data)}, list) {
			if d.Valid && list.Errors() > 0 && list.Sorted()[0].Span.Line == 0 {
				t.Errorf("a sound document beside an error without place: %s", list.Sorted()[0].Message)
			}
		}
		for _, d := range list.Sorted() {
			if d.Span.Line > strings.Count(string(data), "\n")+strings.Count(string(data), "\r")+2 {
				t.Errorf("%s is beyond the end: %s", d.Span, d.Message)
			}
		}
		var out strings.Builder
		if err := list.WriteText(&out, diag.Colours()); err != nil {
			t.Error(err)
		}
	})
}
