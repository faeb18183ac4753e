package gitfs

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

	"lockstep.dev/lockstep/pkg/compile/source"
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
func (r repository) at(folder, name string) fs.FS {
	r.t.Helper()
	opened, err := Open(filepath.Join(r.folder, folder))
	if err != nil {
		r.t.Fatal(err)
	}
	found, err := opened.Revision(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return found.FS()
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
		old, now := r.at(".", "HEAD~1"), r.at(".", "main")
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

// TestFolder: specs may lie in a folder of a larger repository, in a linked worktree, or in a bare repository.
func TestFolder(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"platform/tenants/a.yaml": "a\n", "other.txt": "o\n"})
	want := map[string]string{"tenants/a.yaml": "a\n"}
	if diff := cmp.Diff(want, contents(t, r.at("platform", "HEAD"))); diff != "" {
		t.Errorf("a folder (-want +got):\n%s", diff)
	}
	linked := repository{t: t, folder: filepath.Join(t.TempDir(), "linked")}
	r.git("worktree", "add", "--quiet", "-b", "topic", linked.folder)
	linked.commit(map[string]string{"platform/tenants/b.yaml": "b\n"})
	if diff := cmp.Diff(map[string]string{"tenants/a.yaml": "a\n", "tenants/b.yaml": "b\n"}, contents(t, linked.at("platform", "topic"))); diff != "" {
		t.Errorf("a linked worktree (-want +got):\n%s", diff)
	}
	bare := repository{t: t, folder: filepath.Join(t.TempDir(), "bare.git")}
	r.git("clone", "--quiet", "--bare", r.folder, bare.folder)
	if diff := cmp.Diff(map[string]string{"platform/tenants/a.yaml": "a\n", "other.txt": "o\n"}, contents(t, bare.at(".", "main"))); diff != "" {
		t.Errorf("a bare repository (-want +got):\n%s", diff)
	}
}

// TestLinks: symbolic links are followed inside of the folder, never out of it, and not forever.
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
	root := r.at("specs", "HEAD")
	for _, name := range []string{"tenants/b.yaml", "up.yaml", "folder/a.yaml"} {
		if data, err := fs.ReadFile(root, name); err != nil || string(data) != "a\n" {
			t.Errorf("%s: got %q, %v; want what it leads to", name, data, err)
		}
	}
	for name, want := range map[string]error{"out.yaml": source.ErrOutside, "absolute.yaml": source.ErrOutside,
		"loop.yaml": source.ErrTooManyLinks, "nowhere.yaml": fs.ErrNotExist} {
		if data, err := fs.ReadFile(root, name); !errors.Is(err, want) {
			t.Errorf("%s: got %q, %v; want the error `%v`", name, data, err, want)
		}
	}
}

// TestClones: what a clone does not have is refused with what to do, not taken for missing files.
func TestClones(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"tenants/a.yaml": "a\n"})
	r.commit(map[string]string{"tenants/a.yaml": "b\n"})
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

// TestSubmodules: whoever reads or lists what is in a submodule is told so, with its path; what lies beside one is read. So
// it is in the working tree.
func TestSubmodules(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"tenants/a.yaml": "a\n"})
	outer := newRepository(t)
	for _, path := range []string{"library", "platform/charts/shared", "platform/more"} {
		outer.git("submodule", "--quiet", "add", r.folder, path)
	}
	if err := os.Symlink("charts/shared", filepath.Join(outer.folder, "platform/linked")); err != nil {
		t.Fatal(err)
	}
	outer.commit(map[string]string{"platform/tenants/b.yaml": "b\n", "platform/charts/own/Chart.yaml": "c\n"})
	root := outer.at("platform", "HEAD")
	opened, err := Open(filepath.Join(outer.folder, "platform"))
	if err != nil {
		t.Fatal(err)
	}
	for state, root := range map[string]fs.FS{"revision": root,
		"working tree": opened.WorkingTree(os.DirFS(filepath.Join(outer.folder, "platform")).(FolderFS))} {
		for _, name := range []string{"charts/shared", "charts/shared/tenants/a.yaml", "more/tenants", "linked/tenants/a.yaml"} {
			if _, err := fs.Stat(root, name); !errors.Is(err, ErrSubmodule) {
				t.Errorf("%s, %s: got %v, want that it is in a submodule", state, name, err)
			}
			if _, err := root.Open(name); !errors.Is(err, ErrSubmodule) {
				t.Errorf("%s, open %s: got %v, want that it is in a submodule", state, name, err)
			}
		}
		if _, err := fs.ReadDir(root, "charts"); !errors.Is(err, ErrSubmodule) || !strings.Contains(err.Error(), "`platform/charts/shared` is a git submodule") {
			t.Errorf("%s, a folder with a submodule: got %v, want its path", state, err)
		}
		for _, name := range []string{".", "tenants", "charts/own"} {
			if _, err := fs.ReadDir(root, name); err != nil {
				t.Errorf("%s, %s: got %v, want what is beside a submodule", state, name, err)
			}
		}
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
	ours, err := opened.DefaultBranch()
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

// TestNamesAsGit: a name is the commit that it is to git, or an error; never another commit.
func TestNamesAsGit(t *testing.T) {
	r := newRepository(t)
	first := r.commit(map[string]string{"a/a": "1\n"})
	r.commit(map[string]string{"a/a": "2\n"})
	for _, name := range []string{"one", "two", "three"} {
		r.git("switch", "--quiet", "--create", name, "main~1")
		r.commit(map[string]string{name: name + "\n"})
	}
	r.git("switch", "--quiet", "main")
	r.git("merge", "--quiet", "--message", "An octopus", "one", "two", "three")
	r.git("tag", "--annotate", "--message", "x", "v1", "one")
	r.git("tag", "--annotate", "--message", "x", "v2", "v1")
	r.git("tag", "files", "main^{tree}")
	r.git("tag", "both", "one")
	r.git("branch", "both", "two")
	r.git("tag", "main", "one")
	r.git("branch", first[:4], "two")
	r.git("branch", "HEAD-1", "three")
	r.git("branch", "team/x", "three")
	clone := repository{t: t, folder: filepath.Join(t.TempDir(), "clone")}
	r.git("clone", "--quiet", r.folder, clone.folder)
	clone.commit(map[string]string{"b": "b\n"})
	opened, err := Open(clone.folder)
	if err != nil {
		t.Fatal(err)
	}
	clone.git("branch", "both", "origin/both")
	clone.git("branch", first[:4], "origin/two")
	bases := []string{
		"HEAD", "@", "main", "refs/heads/main", "heads/main", "tags/main", "origin", "origin/one", "origin/team/x", "remotes/origin/two", "ORIG_HEAD", "FETCH_HEAD",
		"v1", "v2", "files", "both", "both@{u}", "@{u}", "HEAD@{1}", "@{-1}", "HEAD@{yesterday}", ":/octopus", "HEAD:a", ":a", "^HEAD", "main..origin/one", "main...origin/one",
		first, first[:4], first[:7], strings.ToUpper(first[:8]), first[:3], first + "0", "0000", "v1-1-g" + first[:7], "HEAD-1", "origin/HEAD-1", "config", "../HEAD", "-", "", " ",
	}
	steps := []string{"", "~", "^", "~0", "^0", "~1", "~2", "~3", "^1", "^2", "^3", "^4", "^5", "~1^2", "^2~1", "^^", "~~", "^3^", "^{}", "^{commit}", "^{tree}", "^{/x}", "^{commit}~1", "^@", "^!", "^-1", "~9", "~99999999999999999999", "~x", ":a"}
	found := 0
	for _, base := range bases {
		for _, step := range steps {
			name := base + step
			got, err := opened.Revision(name)
			if err != nil {
				continue
			}
			found++
			if want := clone.git("-c", "core.warnAmbiguousRefs=false", "rev-parse", "--quiet", "--verify", "--end-of-options", name+"^{commit}"); got.Hash() != want {
				t.Errorf("%s: got %s, want %s as git", name, got.Hash(), want)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d names were found", found)
	}
	for name, want := range map[string]string{
		"both": "several have this name: write `refs/heads/` or `refs/tags/` before it", "both@{u}": "is not a name of a revision", "HEAD@{1}": "is not a name of a revision", "HEAD^{tree}": "is not a name of a revision", "HEAD:a": "is not a name of a revision",
		"origin/main^5": "`^5` leads from ",
		"origin/main~9": "to no commit: `git log origin/main` shows the history", "files": "it names something else than a commit", "main": "several have this name", "v2^{}": "", first[:4]: "several have this name", "origin/main^4": "",
	} {
		if _, err := opened.Revision(name); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// TestDefaultBesideATag: the default branch is a branch, whatever tags there are.
func TestDefaultBesideATag(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"a": "1\n"})
	r.git("tag", "main")
	want := r.commit(map[string]string{"a": "2\n"})
	opened, err := Open(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := opened.DefaultBranch(); err != nil || found.Hash() != want {
		t.Errorf("got %v, %v, want %s", found, err, want)
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
				if _, err := fs.ReadFile(found.FS(), file); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestRunsNothing: whatever a repository names in its configuration and its attributes, reading it runs no program, and
// its objects are those that were recorded.
func TestRunsNothing(t *testing.T) {
	r := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	r.commit(map[string]string{".gitattributes": "* filter=evil text eol=crlf export-subst ident\n", "a": "$Id$ $Format:%H$\n"})
	replaced := r.git("rev-parse", "HEAD:a")
	r.git("replace", replaced, r.git("hash-object", "-w", "--no-filters", ".gitattributes"))
	r.git("worktree", "add", "--quiet", "--detach", filepath.Join(t.TempDir(), "other"))
	script := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{
		"core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.askPass", "core.alternateRefsCommand",
		"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.external", "gpg.program", "pager.cat-file",
		"pager.rev-parse", "alias.cat-file", "alias.ls-tree", "uploadpack.packObjectsHook", "credential.helper",
	} {
		r.git("config", setting, script)
	}
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"} {
		if err := os.Symlink(script, filepath.Join(r.folder, ".git/hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Remove(ran)

	opened, err := Open(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	found, err := opened.DefaultBranch()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(found.FS(), "a"); string(data) != "$Id$ $Format:%H$\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := opened.MergeBase(found, found); err != nil {
		t.Error(err)
	}
	if _, err := fs.ReadDir(opened.WorkingTree(os.DirFS(r.folder).(FolderFS)), "."); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program that the repository names has run")
	}
}

// TestPartialClone: what a partial clone has not fetched is an error with the reason, and the remote is not asked.
func TestPartialClone(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"tenants/a.yaml": "a\n"})
	r.git("config", "uploadpack.allowFilter", "true")
	partial := repository{t: t, folder: filepath.Join(t.TempDir(), "partial")}
	r.git("clone", "--quiet", "--no-checkout", "--filter=blob:none", "file://"+r.folder, partial.folder)
	_, err := fs.ReadFile(partial.at(".", "HEAD"), "tenants/a.yaml")
	if err == nil || !strings.Contains(err.Error(), "fetch without a filter") {
		t.Errorf("got %v, want how to get it", err)
	}
}

// TestEnvironment: the variables that git sets for hooks do not lead to another repository.
func TestEnvironment(t *testing.T) {
	r, other := newRepository(t), newRepository(t)
	want := r.commit(map[string]string{"a": "a\n"})
	other.commit(map[string]string{"b": "b\n"})
	t.Setenv("GIT_DIR", filepath.Join(other.folder, ".git"))
	opened, err := Open(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := opened.Revision("HEAD"); err != nil || found.Hash() != want {
		t.Errorf("got %v, %v, want %s", found, err, want)
	}
}
