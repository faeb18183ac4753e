package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes files below a folder. A name that ends in / is a folder, a content that begins with -> a symbolic link.
func put(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		target, content := filepath.Join(folder, name), files[name]
		err := os.MkdirAll(filepath.Dir(target), 0o755)
		switch link, isLink := strings.CutPrefix(content, "->"); {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(target, 0o755)
		case isLink:
			err = os.Symlink(link, target)
		default:
			err = os.WriteFile(target, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// list is the opposite of put; folders that are not empty are not listed.
func list(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(folder, name)
		switch {
		case entry.IsDir():
			if inside, _ := os.ReadDir(name); len(inside) == 0 && relative != "." {
				files[relative+"/"] = ""
			}
		case entry.Type() == fs.ModeSymlink:
			link, _ := os.Readlink(name)
			files[relative] = "->" + link
		default:
			data, _ := os.ReadFile(name)
			files[relative] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func stat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// onlyChild fails if something is beside a folder.
func onlyChild(t *testing.T, folder string) {
	t.Helper()
	if entries, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(entries) != 1 {
		t.Errorf("beside the folder is something else: %v, %v", entries, err)
	}
}

func stage(t *testing.T, dir *Dir, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := dir.Stage(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
}

// many are more files than may be linked for a handful of changed ones.
func many() map[string]string {
	files := map[string]string{}
	for i := range thousands + 100 {
		files[fmt.Sprintf("c1/t/%04d.yaml", i)] = "same"
	}
	return files
}

func TestCommit(t *testing.T) {
	present := map[string]string{
		"c1/t/a.yaml": "a", "c1/t/b.yaml": "b", "c1/gone/x.yaml": "x", "c2/a.yaml": "a",
		"README.md": "mine", "c1/t/notes/n": "mine", "c1/t/empty/": "", "c1/gone2/x.yaml": "x", "c1/gone2/mine": "mine", "link": "->nowhere",
	}
	type args struct {
		more    map[string]string
		written map[string]string
		removed []string
	}
	cases := map[string]struct {
		reason string
		args   args
		// replaced is the folder that is another one afterwards; empty means none.
		replaced string
	}{
		"Nothing":   {"nothing changed: nothing happens", args{}, ""},
		"One":       {"one file takes its place by a rename", args{written: map[string]string{"c1/t/a.yaml": "a2"}}, ""},
		"OneGone":   {"a file goes, and its folder", args{removed: []string{"c1/gone/x.yaml"}}, ""},
		"OneNew":    {"a file comes, and its folders", args{written: map[string]string{"c3/new/a.yaml": "n"}}, ""},
		"Folder":    {"only the folder that holds all changes is exchanged", args{written: map[string]string{"c1/t/a.yaml": "a2", "c1/t/n.yaml": "n"}}, "c1/t"},
		"Cluster":   {"changes in two folders of a cluster", args{written: map[string]string{"c1/t/a.yaml": "a2", "c1/new/n.yaml": "n"}, removed: []string{"c1/gone/x.yaml", "c1/gone2/x.yaml"}}, "c1"},
		"All":       {"changes in two clusters", args{written: map[string]string{"c1/t/a.yaml": "a2", "c3/n.yaml": "n"}, removed: []string{"c2/a.yaml"}}, "."},
		"Git":       {"a checkout stays where git finds it", args{more: map[string]string{".git/HEAD": "mine"}, written: map[string]string{"c1/t/a.yaml": "a2", "c2/a.yaml": "a2"}, removed: []string{"c1/gone/x.yaml"}}, ""},
		"Handful":   {"thousands are not linked for two", args{more: many(), written: map[string]string{"c1/t/a.yaml": "a2", "c2/a.yaml": "a2"}}, ""},
		"Thousands": {"many changes among thousands", args{more: many(), written: many()}, "c1/t"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "dist")
			put(t, folder, present)
			put(t, folder, tc.args.more)
			if err := os.Chmod(filepath.Join(folder, "c1", "t"), 0o700); err != nil {
				t.Fatal(err)
			}
			want := list(t, folder)
			was := map[string]fs.FileInfo{}
			for file := range want {
				was[file] = stat(t, filepath.Join(folder, file))
			}
			folders := map[string]fs.FileInfo{}
			for _, f := range []string{".", "c1", "c1/t"} {
				folders[f] = stat(t, filepath.Join(folder, f))
			}
			maps.Copy(want, tc.args.written)
			for _, file := range tc.args.removed {
				delete(want, file)
			}

			dir := open(t, folder)
			stage(t, dir, tc.args.written)
			if err := dir.Commit(tc.args.removed, len(tc.args.more)); err != nil {
				t.Fatal(err)
			}
			if err := dir.Close(); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, list(t, folder)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for file := range want {
				if _, changed := tc.args.written[file]; !changed && !strings.HasSuffix(file, "/") {
					if now := stat(t, filepath.Join(folder, file)); !os.SameFile(now, was[file]) || !now.ModTime().Equal(was[file].ModTime()) {
						t.Errorf("%s is another file, or was touched", file)
					}
				}
			}
			for f, info := range folders {
				now := stat(t, filepath.Join(folder, f))
				if replaced := tc.replaced != "" && (f == tc.replaced || isBelow(tc.replaced, f) || tc.replaced == "."); os.SameFile(now, info) == replaced {
					t.Errorf("%s: folder %s was replaced: %t", tc.reason, f, !replaced)
				}
				if now.Mode() != info.Mode() {
					t.Errorf("folder %s has mode %v, want %v", f, now.Mode(), info.Mode())
				}
			}
			onlyChild(t, folder)
		})
	}
}

// TestClosed: what was staged and not committed is gone, and the folder too if it is new.
func TestClosed(t *testing.T) {
	parent := t.TempDir()
	present := map[string]string{"full/mine": "m"}
	put(t, parent, present)
	for _, name := range []string{"full", "new"} {
		dir := open(t, filepath.Join(parent, name))
		stage(t, dir, map[string]string{"c/a.yaml": "changed"})
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(present, list(t, parent)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNothingBeside: where nothing can be made beside the folder, all waits inside, and what belongs to one cluster still comes at once.
func TestNothingBeside(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "dist")
	put(t, folder, map[string]string{"c/a.yaml": "1", "c/b.yaml": "1", "d/a.yaml": "1", "mine": "m"})
	for _, files := range []map[string]string{{"c/a.yaml": "2", "c/b.yaml": "2"}, {"c/a.yaml": "3", "d/a.yaml": "3"}} {
		want := list(t, folder)
		maps.Copy(want, files)
		dir := open(t, folder)
		dir.stage.places = []string{filepath.Join(folder, "mine", "no"), filepath.Join(folder, ".lockstep-next")}
		stage(t, dir, files)
		if err := errors.Join(dir.Commit(nil, 0), dir.Close()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, list(t, folder)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestSymlink: a link out of the folder is not followed.
func TestSymlink(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	put(t, folder, map[string]string{"link": "->" + outside})
	dir := open(t, folder)
	if _, _, err := dir.Same("link/a.yaml", nil); err == nil {
		t.Error("a file was read through a link")
	}
	stage(t, dir, map[string]string{"link/a.yaml": "x", "link/b.yaml": "x"})
	if err := dir.Commit(nil, 0); err == nil {
		t.Error("files were written through a link")
	}
	if diff := cmp.Diff(map[string]string{}, list(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}

func TestSame(t *testing.T) {
	folder := t.TempDir()
	long := strings.Repeat("x", 100_000)
	put(t, folder, map[string]string{"a": "one", "long": long, "empty": ""})
	dir := open(t, folder)
	cases := map[string]struct {
		name, data  string
		found, same bool
	}{
		"Same":      {"a", "one", true, true},
		"Other":     {"a", "two", true, false},
		"Shorter":   {"a", "on", true, false},
		"Missing":   {"b/c", "", false, false},
		"Long":      {"long", long, true, true},
		"LongOther": {"long", long[1:] + "y", true, false},
		"Empty":     {"empty", "", true, true},
	}
	for name, tc := range cases {
		found, same, err := dir.Same(tc.name, []byte(tc.data))
		if found != tc.found || same != tc.same || err != nil {
			t.Errorf("%s: found %t, same %t, error %v", name, found, same, err)
		}
	}
}

// TestBusyAfterExchange: the lock goes over to the tree that came into place.
func TestBusyAfterExchange(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "dist")
	dir := open(t, folder)
	stage(t, dir, map[string]string{"c/a.yaml": "a", "d/a.yaml": "a"})
	if err := dir.Commit(nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder); !errors.Is(err, ErrBusy) {
		t.Errorf("a second Open gives %v, want ErrBusy", err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, folder)
}
