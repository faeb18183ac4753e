package scaffold

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

// TestOverlay: old files and the new one are a file system like any other, whether its folder was there or not, or the file was.
func TestOverlay(t *testing.T) {
	for _, name := range []string{"a/new.yaml", "a/d/new.yaml", "f/g/new.yaml", "a/old.yaml"} {
		base := fstest.MapFS{
			"a/old.yaml": {Data: []byte("old"), Mode: 0o644}, "a/other.yaml": {Data: []byte("old"), Mode: 0o644}, "z.yaml": {Data: []byte("old")},
		}
		o := overlayFS{base: base, file: File{name, []byte("new")}}
		if err := fstest.TestFS(o, "a/other.yaml", "z.yaml", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := fs.ReadFile(o, name); err != nil || string(got) != "new" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := fs.ReadFile(o, "a/other.yaml"); err != nil || string(got) != "old" {
			t.Errorf("a/other.yaml: %q, %v", got, err)
		}
	}
}
