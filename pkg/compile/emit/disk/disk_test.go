package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, folder string) *Dir {
	t.Helper()
	dir, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func tree(t *testing.T, folder string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(folder, name)
		names = append(names, relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDir: files replace files, folders come and go with them, and nothing else is left or touched.
func TestDir(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "dist")
	dir := open(t, folder)
	for _, content := range []string{"one", "two"} {
		if err := dir.WriteFile("a/b/c.yaml", []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "a", "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := dir.ReadFile("a/b/c.yaml"); err != nil || string(data) != "two" {
		t.Errorf("read %q, %v", data, err)
	}
	if diff := cmp.Diff([]string{".", "a", "a/b", "a/b/c.yaml", "a/mine"}, tree(t, folder)); diff != "" {
		t.Errorf("after writing (-want +got):\n%s", diff)
	}
	if err := dir.Remove("a/b/c.yaml"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", "a", "a/mine"}, tree(t, folder)); diff != "" {
		t.Errorf("after removal (-want +got):\n%s", diff)
	}
	if _, err := dir.ReadFile("a/b/c.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file reads with %v", err)
	}
}

// TestInterrupted: the temporary file of a build that was killed is gone with the next one.
func TestInterrupted(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, temporary), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, folder)
	if diff := cmp.Diff([]string{"."}, tree(t, folder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSymlink: a link out of the folder is not followed.
func TestSymlink(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, folder).WriteFile("link/a.yaml", []byte("x")); err == nil {
		t.Error("a file was written through a link")
	}
	if diff := cmp.Diff([]string{"."}, tree(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}
