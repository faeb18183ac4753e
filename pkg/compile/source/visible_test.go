package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// attacked is a repository with all links that an attacker may commit; keys lead to the content, or to `-> TARGET`.
var attacked = map[string]string{
	"a/file": "seen", "a/deep/file": "seen", ".git/config": "secret", ".secrets/key": "secret",
	"a/.hidden": "secret", "vendor/.git": "secret",
	"b/plain": "-> ../a/file", "b/folder": "-> ../a", "b/chain": "-> plain", "b/up": "-> ../a/deep/../file",
	"b/slashes": "-> .././/a//file", "b/self": "-> ../b/plain",
	"b/git": "-> ../.git/config", "b/gitdir": "-> ../.git", "b/top": "-> ..", "b/key": "-> ../.secrets/key",
	"b/below":   "-> ../a/.hidden",
	"b/chained": "-> git", "b/through": "-> ../.git/../a/file", "b/behind": "-> top/.git/config",
	"b/module": "-> ../vendor/.git",
	"b/out":    "-> ../../outside", "b/away": "-> ../..", "b/further": "-> away/outside",
	"b/absolute": "-> /etc/passwd", "b/loop": "-> loop", "b/one": "-> two", "b/two": "-> one",
	"b/nowhere": "-> ../a/missing",
}

// TestVisible: what specs may name is read through any links; hidden files and those outside are not, and the error
// names the link. It is so for the files of a disk and for those of a tree that follows no link itself.
func TestVisible(t *testing.T) {
	folder := filepath.Join(t.TempDir(), ".work", "repository")
	tree := fstest.MapFS{}
	for name, content := range attacked {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		target, isLink := strings.CutPrefix(content, "-> ")
		var err error
		if isLink {
			err, tree[name] = os.Symlink(target, file), &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		} else {
			err, tree[name] = os.WriteFile(file, []byte(content), 0o600), &fstest.MapFile{Data: []byte(content)}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	read := []string{"a/file", "b/plain", "b/folder/file", "b/folder/deep/file", "b/chain", "b/up", "b/slashes",
		"b/self", "b/top/a/file", "b/top/b/top/b/plain"}
	refused := map[string]error{
		".git/config": ErrHidden, "a/.hidden": ErrHidden, "b/git": ErrHidden, "b/gitdir/config": ErrHidden,
		"b/gitdir": ErrHidden, "b/top/.git/config": ErrHidden, "b/top/.GIT/config": ErrHidden,
		"b/key": ErrHidden, "b/below": ErrHidden, "b/chained": ErrHidden, "b/through": ErrHidden,
		"b/behind": ErrHidden, "b/module": ErrHidden, "b/folder/.hidden": ErrHidden, "vendor/.git": ErrHidden,
		"b/out": ErrOutside, "b/away": ErrOutside, "b/further": ErrOutside, "b/absolute": ErrOutside,
		"b/top/b/out": ErrOutside, "b/loop": ErrTooManyLinks, "b/one": ErrTooManyLinks,
		"b/nowhere": fs.ErrNotExist, "b/folder/missing": fs.ErrNotExist, "../outside": fs.ErrInvalid,
		"/etc/passwd": fs.ErrInvalid, "b/../.git/config": fs.ErrInvalid,
	}
	for state, files := range map[string]fs.FS{"disk": os.DirFS(folder), "root": root.FS(), "tree": tree} {
		visible := Visible(files)
		for _, name := range read {
			if data, err := fs.ReadFile(visible, name); err != nil || string(data) != "seen" {
				t.Errorf("%s: %s: %q, %v, want what it leads to", state, name, data, err)
			}
		}
		for name, want := range refused {
			_, opened := visible.Open(name)
			_, looked := fs.Stat(visible, name)
			_, listed := fs.ReadDir(visible, name)
			for _, err := range []error{opened, looked, listed} {
				if !errors.Is(err, want) {
					t.Errorf("%s: %s: error %v, want %v", state, name, err, want)
				}
			}
		}
		if entries, err := fs.ReadDir(visible, "b/top"); err != nil || slices.ContainsFunc(entries,
			func(e fs.DirEntry) bool { return e.Name()[0] == '.' }) {
			t.Errorf("%s: hidden files are listed: %v, %v", state, entries, err)
		}
		if _, err := visible.Open("b/chained"); err == nil || !strings.Contains(err.Error(),
			"the symbolic link `b/git` leads to `../.git/config`: hidden files are not read") {
			t.Errorf("%s: the error is %v", state, err)
		}
		whole := Whole(files)
		if data, err := fs.ReadFile(whole, "b/key"); err != nil || string(data) != "secret" {
			t.Errorf("%s: a hidden file that is not git's: %q, %v", state, data, err)
		}
		if data, err := fs.ReadFile(whole, "b/git"); !errors.Is(err, ErrHidden) {
			t.Errorf("%s: a file of git: %q, %v", state, data, err)
		}
	}
}

// FuzzVisible: whatever links there are, what is read is neither hidden nor outside.
func FuzzVisible(f *testing.F) {
	f.Add("b/x", "../.git/config", "../a", "x/../y")
	f.Add("y/config", "..", ".git", "x")
	f.Fuzz(func(t *testing.T, name, x, y, z string) {
		tree := fstest.MapFS{
			".git/config": {Data: []byte("secret")}, "a/.b/c": {Data: []byte("secret")}, "a/b": {Data: []byte("seen")},
			"x": {Data: []byte(x), Mode: fs.ModeSymlink}, "a/y": {Data: []byte(y), Mode: fs.ModeSymlink},
			"b/z": {Data: []byte(z), Mode: fs.ModeSymlink},
		}
		if data, err := fs.ReadFile(Visible(tree), name); err == nil && string(data) != "seen" {
			t.Errorf("%s with links to %s, %s, %s: %q", name, x, y, z, data)
		}
	})
}
