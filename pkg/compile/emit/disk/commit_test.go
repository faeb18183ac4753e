package disk

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/emit"
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

func TestCommit(t *testing.T) {
	present := map[string]string{
		"c1/t/a.yaml": "a", "c1/t/b.yaml": "b", "c1/gone/x.yaml": "x", "c2/a.yaml": "a", "README.md": "mine",
		"c1/t/notes/n": "mine", "c1/t/empty/": "", "c1/gone2/x.yaml": "x", "c1/gone2/mine": "mine", "link": "->nowhere",
	}
	type args struct {
		interim []byte
		written map[string]string
		removed []string
	}
	cases := map[string]struct {
		reason string
		args   args
	}{
		"Nothing": {"nothing changed: nothing happens", args{}},
		"One":     {"one file is another", args{written: map[string]string{"c1/t/a.yaml": "a2"}}},
		"OneGone": {"a file goes, and its folder", args{removed: []string{"c1/gone/x.yaml"}}},
		"OneNew":  {"a file comes, and its folders", args{[]byte("i"), map[string]string{"c3/a.yaml": "n", emit.Record: "r"}, nil}},
		"All": {"all of it", args{
			[]byte("i"), map[string]string{"c1/t/a.yaml": "a2", "c1/new/n.yaml": "n", emit.Record: "r"},
			[]string{"c1/gone/x.yaml", "c1/gone2/x.yaml", "c2/a.yaml"},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "dist")
			put(t, folder, present)
			want := list(t, folder)
			was := map[string]fs.FileInfo{}
			for file := range want {
				was[file] = stat(t, filepath.Join(folder, file))
			}
			maps.Copy(want, tc.args.written)
			for _, file := range tc.args.removed {
				delete(want, file)
			}

			dir := open(t, folder)
			stage(t, dir, tc.args.written)
			if err := errors.Join(dir.Commit(tc.args.interim, tc.args.removed), dir.Close()); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, list(t, folder)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for file := range want {
				_, changed := tc.args.written[file]
				if changed || strings.HasSuffix(file, "/") {
					continue
				}
				now := stat(t, filepath.Join(folder, file))
				if !os.SameFile(now, was[file]) || !now.ModTime().Equal(was[file].ModTime()) {
					t.Errorf("%s is another file, or was touched", file)
				}
			}
			onlyChild(t, folder)
		})
	}
}

// TestBroken: a commit that cannot begin leaves the folder as it was and reports that. One that breaks off has made the
// interim record, and reports that the files of two builds are there.
func TestBroken(t *testing.T) {
	folder := t.TempDir()
	present := map[string]string{emit.Record: "old", "c/a.yaml": "1", "file": "mine", "c/taken.yaml/mine": "mine"}
	put(t, folder, present)
	dir := open(t, folder)
	stage(t, dir, map[string]string{emit.Record: "new", "c/a.yaml": "2", "file/b.yaml": "2"})
	err := dir.Commit([]byte("both"), nil)
	if err == nil || !strings.Contains(err.Error(), "output folder `"+folder+"`, which stays as it was: ") {
		t.Errorf("error %v", err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(present, list(t, folder)); diff != "" {
		t.Errorf("it could not begin (-want +got):\n%s", diff)
	}

	dir = open(t, folder)
	stage(t, dir, map[string]string{emit.Record: "new", "c/a.yaml": "2", "c/taken.yaml": "2"})
	err = dir.Commit([]byte("both"), nil)
	if err == nil || !strings.Contains(err.Error(), "`"+folder+"`, which holds files of two builds until the next one: ") {
		t.Errorf("error %v", err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	present[emit.Record], present["c/a.yaml"] = "both", "2"
	if diff := cmp.Diff(present, list(t, folder)); diff != "" {
		t.Errorf("it broke off (-want +got):\n%s", diff)
	}
}

// TestInterrupted: files that a build has left waiting go with the next one, and git does not see them until then.
func TestInterrupted(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, map[string]string{"mine": "m"})
	dir := open(t, folder)
	stage(t, dir, map[string]string{"c/a.yaml": "2"})
	if got := list(t, filepath.Join(folder, area)); got[".gitignore"] != "*\n" || len(got) != 2 {
		t.Errorf("the area holds %v", got)
	}
	if err := dir.lock.Close(); err != nil { // as the kernel does if the process is killed
		t.Fatal(err)
	}
	open(t, folder)
	if diff := cmp.Diff(map[string]string{"mine": "m"}, list(t, folder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestSymlink: a link out of the folder is not followed.
func TestSymlink(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	put(t, folder, map[string]string{"link": "->" + outside})
	dir := open(t, folder)
	if _, _, err := dir.Same("link/a.yaml", nil); err == nil {
		t.Error("a file was read through a link")
	}
	stage(t, dir, map[string]string{"link/a.yaml": "x", "link/b.yaml": "x"})
	if err := dir.Commit(nil, nil); err == nil {
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
