package revision

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// repository is a git repository in a folder of its own, made with git itself.
type repository struct {
	t      *testing.T
	folder string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t: t, folder: t.TempDir()}
	r.git("init", "--quiet", "--initial-branch", "main")
	return r
}

func (r repository) git(arguments ...string) string {
	r.t.Helper()
	settings := []string{"-C", r.folder, "-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"}
	command := exec.Command("git", append(settings, arguments...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	output, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// commit records files; an empty content removes one.
func (r repository) commit(files map[string]string) string {
	r.t.Helper()
	for name, content := range files {
		full := filepath.Join(r.folder, filepath.FromSlash(name))
		if content == "" {
			if err := os.Remove(full); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", "a change")
	return r.git("rev-parse", "HEAD")
}

// at returns the files of a folder as they are in a revision.
func (r repository) at(folder, name string, beside fs.FS) fs.FS {
	r.t.Helper()
	opened, err := Open(filepath.Join(r.folder, folder))
	if err != nil {
		r.t.Fatal(err)
	}
	found, err := opened.Revision(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return found.FS(beside)
}

// contents reads all files.
func contents(t *testing.T, root fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFileSystem: a revision keeps the contract of fs.FS, loose or packed with deltas, with names that git sorts in its own way.
func TestFileSystem(t *testing.T) {
	r := newRepository(t)
	long := strings.Repeat("a line that compresses\n", 500)
	first := map[string]string{"catalog/a.yaml": long, "catalog/a/b.yaml": "x\n", "catalog/a.b": "y\n", "tenants/ünï cödé.yaml": "z\n", "run.sh": "true\n"}
	r.commit(first)
	r.commit(map[string]string{"catalog/a.yaml": long + "one more\n", "run.sh": ""})
	for _, packed := range []bool{false, true} {
		if packed {
			r.git("gc", "--quiet", "--aggressive")
		}
		old, now := r.at(".", "HEAD~1", nil), r.at(".", "main", nil)
		if err := fstest.TestFS(old, "catalog/a.yaml", "catalog/a/b.yaml", "tenants/ünï cödé.yaml", "run.sh"); err != nil {
			t.Errorf("packed %t: %v", packed, err)
		}
		if diff := cmp.Diff(first, contents(t, old)); diff != "" {
			t.Errorf("packed %t: the files of HEAD~1 (-want +got):\n%s", packed, diff)
		}
		if _, err := fs.Stat(now, "run.sh"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("packed %t: a removed file: got %v, want that it does not exist", packed, err)
		}
	}
}

// TestBeside: what the other state has too is the same, whoever it is read from; what it has otherwise is not believed.
func TestBeside(t *testing.T) {
	r := newRepository(t)
	want := map[string]string{"same.yaml": "same\n", "other.yaml": "old!\n", "gone.yaml": "gone\n"}
	r.commit(want)
	r.commit(map[string]string{"other.yaml": "new!\n", "gone.yaml": "", "more.yaml": "more\n"})
	if diff := cmp.Diff(want, contents(t, r.at(".", "HEAD~1", os.DirFS(r.folder)))); diff != "" {
		t.Errorf("beside the working tree (-want +got):\n%s", diff)
	}
}

// TestFolder: specs may lie in a folder of a larger repository, in a linked worktree, or in a bare repository.
func TestFolder(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"platform/tenants/a.yaml": "a\n", "other.txt": "o\n"})
	want := map[string]string{"tenants/a.yaml": "a\n"}
	if diff := cmp.Diff(want, contents(t, r.at("platform", "HEAD", nil))); diff != "" {
		t.Errorf("a folder (-want +got):\n%s", diff)
	}
	linked := repository{t: t, folder: filepath.Join(t.TempDir(), "linked")}
	r.git("worktree", "add", "--quiet", "-b", "topic", linked.folder)
	linked.commit(map[string]string{"platform/tenants/b.yaml": "b\n"})
	if diff := cmp.Diff(map[string]string{"tenants/a.yaml": "a\n", "tenants/b.yaml": "b\n"}, contents(t, linked.at("platform", "topic", nil))); diff != "" {
		t.Errorf("a linked worktree (-want +got):\n%s", diff)
	}
	bare := repository{t: t, folder: filepath.Join(t.TempDir(), "bare.git")}
	r.git("clone", "--quiet", "--bare", r.folder, bare.folder)
	if diff := cmp.Diff(map[string]string{"platform/tenants/a.yaml": "a\n", "other.txt": "o\n"}, contents(t, bare.at(".", "main", nil))); diff != "" {
		t.Errorf("a bare repository (-want +got):\n%s", diff)
	}
}

// TestLinks: symbolic links are followed inside of the folder, never out of it, and not for ever.
func TestLinks(t *testing.T) {
	r := newRepository(t)
	links := map[string]string{
		"specs/tenants/b.yaml": "a.yaml", "specs/up.yaml": "tenants/../tenants/a.yaml", "specs/folder": "tenants",
		"specs/out.yaml": "../secret", "specs/absolute.yaml": "/etc/passwd", "specs/loop.yaml": "loop.yaml", "specs/nowhere.yaml": "missing",
	}
	if err := os.MkdirAll(filepath.Join(r.folder, "specs/tenants"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(r.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.commit(map[string]string{"specs/tenants/a.yaml": "a\n", "secret": "s\n"})
	root := r.at("specs", "HEAD", os.DirFS(filepath.Join(r.folder, "specs")))
	for _, name := range []string{"tenants/b.yaml", "up.yaml", "folder/a.yaml"} {
		if data, err := fs.ReadFile(root, name); err != nil || string(data) != "a\n" {
			t.Errorf("%s: got %q, %v; want what it leads to", name, data, err)
		}
	}
	for name, want := range map[string]error{"out.yaml": errEscapes, "absolute.yaml": errEscapes, "loop.yaml": errTooLinks, "nowhere.yaml": fs.ErrNotExist} {
		if data, err := fs.ReadFile(root, name); !errors.Is(err, want) {
			t.Errorf("%s: got %q, %v; want the error `%v`", name, data, err, want)
		}
	}
	if info, err := fs.Lstat(root, "folder"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("a link itself: got %v, %v", info, err)
	}
	if target, err := fs.ReadLink(root, "folder"); err != nil || target != "tenants" {
		t.Errorf("where a link leads: got %q, %v", target, err)
	}
}

// TestClones: what a clone does not have is refused with what to do, not taken for missing files.
func TestClones(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"tenants/a.yaml": "a\n"})
	r.commit(map[string]string{"tenants/a.yaml": "b\n"})
	outer := newRepository(t)
	outer.git("submodule", "--quiet", "add", r.folder, "platform")
	outer.commit(nil)
	for _, name := range []string{"platform", "platform/tenants/a.yaml"} {
		if _, err := fs.Stat(outer.at(".", "HEAD", nil), name); !errors.Is(err, ErrSubmodule) {
			t.Errorf("%s: got %v, want that it is in a submodule", name, err)
		}
	}
	shallow := repository{t: t, folder: filepath.Join(t.TempDir(), "shallow")}
	r.git("clone", "--quiet", "--depth", "1", "file://"+r.folder, shallow.folder)
	opened, err := Open(shallow.folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Revision("HEAD~1"); err == nil || !strings.Contains(err.Error(), "fetch --unshallow") {
		t.Errorf("a parent in a shallow clone: got %v, want how to get it", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("a folder without git: got %v, want %v", err, ErrNoRepository)
	}
}

// TestNames: revisions have the names that git gives them, and a pull request begins where it left the default branch.
func TestNames(t *testing.T) {
	r := newRepository(t)
	base := r.commit(map[string]string{"a": "1\n"})
	r.git("tag", "v1")
	r.git("switch", "--quiet", "--create", "topic")
	topic := r.commit(map[string]string{"b": "2\n"})
	r.git("switch", "--quiet", "main")
	main := r.commit(map[string]string{"c": "3\n"})
	opened, err := Open(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"HEAD": main, "main": main, "topic": topic, "v1": base, "HEAD~1": base, "main^": base, topic[:10]: topic, base: base} {
		if found, err := opened.Revision(name); err != nil || found.Hash() != want {
			t.Errorf("%s: got %v, %v; want %s", name, found, err, want)
		}
	}
	if _, err := opened.Revision("no-such-branch"); err == nil || !strings.Contains(err.Error(), "`no-such-branch`") {
		t.Errorf("a name that does not exist: got %v", err)
	}
	ours, err := opened.Default()
	if err != nil || ours.Hash() != main {
		t.Fatalf("the default branch: got %v, %v", ours, err)
	}
	theirs, err := opened.Revision("topic")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := opened.MergeBase(ours, theirs); err != nil || found.Hash() != base {
		t.Errorf("where topic left: got %v, %v; want %s", found, err, base)
	}
	r.git("switch", "--quiet", "--orphan", "alone")
	r.commit(map[string]string{"d": "4\n"})
	alone, err := opened.Revision("alone")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.MergeBase(ours, alone); err == nil || !strings.Contains(err.Error(), "no commit in common") {
		t.Errorf("histories that never met: got %v", err)
	}
}

// TestConcurrent: several may read two revisions at one time.
func TestConcurrent(t *testing.T) {
	r := newRepository(t)
	files := map[string]string{}
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p") {
		files["tenants/"+name+".yaml"] = strings.Repeat(name+"\n", 1000)
	}
	r.commit(files)
	r.commit(map[string]string{"tenants/a.yaml": "new\n"})
	r.git("gc", "--quiet")
	opened, err := Open(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"HEAD", "HEAD~1", "HEAD", "HEAD~1"} {
		all.Go(func() {
			found, err := opened.Revision(name)
			if err != nil {
				t.Error(err)
				return
			}
			for file := range files {
				if _, err := fs.ReadFile(found.FS(nil), file); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
