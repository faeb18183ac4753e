package branch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/publish"
)

// run runs git as it is installed: what publish writes must be what others read.
func run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	return runIn(t, folder, args...)
}

func runIn(t testing.TB, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository is a repository with one commit, and the tree of that commit.
func repository(t *testing.T) (string, *publish.Tree) {
	folder := t.TempDir()
	run(t, folder, "init", "-q", "-b", "main")
	return folder, commit(t, folder, "one")
}

// commit makes a commit, whose compiled tree has one file that names it.
func commit(t *testing.T, folder, name string) *publish.Tree {
	run(t, folder, "commit", "-q", "--allow-empty", "-m", name)
	source, err := publish.ReadSource(folder, run(t, folder, "rev-parse", "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	return &publish.Tree{Source: source, Folder: "dist", Files: []emit.File{{Path: "local/a.yaml", Data: []byte("name: " + name + "\n")}, {Path: "local/b/c.yaml", Data: []byte("c: 1\n")}}}
}

// interrupted is a place where something happens between the look and the move.
type interrupted struct {
	branchStorage
	times  int
	happen func()
}

func (i *interrupted) advance(ctx context.Context, from, to plumbing.Hash) error {
	if i.times > 0 {
		i.times--
		i.happen()
	}
	return i.branchStorage.advance(ctx, from, to)
}

var by = Options{Author: Author{Name: "Platform", Email: "platform@example.com"}}

// TestRace: two pipelines publish at one time. The slower one finds the commit of the faster one, and goes on from there.
func TestRace(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, folder string) *Branch{"local": openLocal, "remote": openRemote} {
		t.Run(name, func(t *testing.T) {
			folder, one := repository(t)
			two := commit(t, folder, "two")
			slow, fast := open(t, folder), open(t, folder)
			slow.place = &interrupted{branchStorage: slow.place, times: 1, happen: func() {
				if _, err := fast.Publish(t.Context(), one, by); err != nil {
					t.Error(err)
				}
			}}
			done, err := slow.Publish(t.Context(), two, by)
			if err != nil || done.State != Published {
				t.Fatalf("got %+v, %v", done, err)
			}
			if log := run(t, folder, "log", "--format=%s", done.Commit); log != "Publish two\nPublish one" {
				t.Errorf("the branch has %q", log)
			}
			run(t, folder, "fsck", "--strict")
		})
	}
}

// TestRaceLost: the faster one publishes something newer. The slower one has nothing to do any more.
func TestRaceLost(t *testing.T) {
	folder, one := repository(t)
	two := commit(t, folder, "two")
	slow, fast := openRemote(t, folder), openRemote(t, folder)
	slow.place = &interrupted{branchStorage: slow.place, times: 1, happen: func() {
		if _, err := fast.Publish(t.Context(), two, by); err != nil {
			t.Error(err)
		}
	}}
	done, err := slow.Publish(t.Context(), one, by)
	if err != nil || done.State != Newer || done.Source != two.Source.Commit {
		t.Errorf("got %+v, %v, want that there is something newer", done, err)
	}
}

// TestRaceForeign: somebody pushes by hand in between. Their commit is not lost.
func TestRaceForeign(t *testing.T) {
	folder, one := repository(t)
	b := openLocal(t, folder)
	b.place = &interrupted{branchStorage: b.place, times: 1, happen: func() { run(t, folder, "branch", "rendered", "main") }}
	if _, err := b.Publish(t.Context(), one, by); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v, want that the branch is foreign", err)
	}
}

// TestRaceInTheRemote: somebody else is faster while the remote takes our push. The remote refuses ours, and theirs is not lost.
func TestRaceInTheRemote(t *testing.T) {
	folder, one := repository(t)
	b := openRemote(t, folder)
	run(t, folder, "push", "-q", "origin", "main")
	bare := run(t, folder, "remote", "get-url", "origin")
	hook := "#!/bin/sh\nrm \"$0\"\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/rendered refs/heads/main\n"
	if err := os.WriteFile(filepath.Join(bare, "hooks/pre-receive"), []byte(hook), 0o755); err != nil { //nolint:gosec // git runs it
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), one, by); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v, want that the branch is foreign", err)
	}
	if rendered, main := run(t, bare, "rev-parse", "rendered"), run(t, bare, "rev-parse", "main"); rendered != main {
		t.Errorf("the branch is at %s, want their %s", rendered, main)
	}
}

// TestRaceWithoutEnd: a branch that never rests is given up.
func TestRaceWithoutEnd(t *testing.T) {
	folder, one := repository(t)
	b := openLocal(t, folder)
	lock := filepath.Join(folder, ".git/refs/heads/rendered.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.Publish(t.Context(), one, by)
	if err == nil || !strings.Contains(err.Error(), "somebody else moved the branch at the same time") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), one, by); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(lock); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock stays: %v", err)
	}
}

// TestSameCommit: the same source on the same tip is the same commit, wherever and whenever it is made.
func TestSameCommit(t *testing.T) {
	folder, one := repository(t)
	clone := t.TempDir()
	run(t, folder, "clone", "-q", folder, clone)
	var commits [2]string
	for i, at := range []string{folder, clone} {
		done, err := openLocal(t, at).Publish(t.Context(), one, by)
		if err != nil {
			t.Fatal(err)
		}
		commits[i] = done.Commit
	}
	if commits[0] != commits[1] {
		t.Errorf("got %s and %s", commits[0], commits[1])
	}
}

// TestOneCluster: a publication of one cluster keeps the files of others.
func TestOneCluster(t *testing.T) {
	folder, one := repository(t)
	one.Files = append(one.Files, emit.File{Path: "onprem/a.yaml", Data: []byte("a: 1\n")})
	b := openLocal(t, folder)
	if _, err := b.Publish(t.Context(), one, by); err != nil {
		t.Fatal(err)
	}
	two := commit(t, folder, "two")
	only := by
	only.Only = "local"
	if _, err := b.Publish(t.Context(), two, only); err != nil {
		t.Fatal(err)
	}
	if files := run(t, folder, "ls-tree", "-r", "--name-only", "rendered"); files != "dist/.lockstep-owned\ndist/local/a.yaml\ndist/local/b/c.yaml\ndist/onprem/a.yaml" {
		t.Errorf("the branch has\n%s", files)
	}
}

// TestWithoutFolder: a tree may lie at the top, beside files of others that sort around it.
func TestWithoutFolder(t *testing.T) {
	folder, one := repository(t)
	one.Folder = "."
	b := openLocal(t, folder)
	for _, name := range []string{"local-x", "local.txt", "zz/local"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, folder, "checkout", "-q", "-b", "rendered")
	run(t, folder, "add", ".")
	run(t, folder, "commit", "-q", "-m", "Theirs")
	run(t, folder, "checkout", "-q", "main")
	adopt := by
	adopt.Adopt = run(t, folder, "rev-parse", "rendered")
	if _, err := b.Publish(t.Context(), one, adopt); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "fsck", "--strict")
	if files := run(t, folder, "ls-tree", "-r", "--name-only", "rendered"); files != ".lockstep-owned\nlocal-x\nlocal.txt\nlocal/a.yaml\nlocal/b/c.yaml\nzz/local" {
		t.Errorf("the branch has\n%s", files)
	}
}

// TestName: a name that git would read as something else makes no branch.
func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"rendered": "", "team/rendered": "", "heads/x": "", "HEAD": "what is checked out", "refs/heads/x": "write `x`", "refs/tags/x": "full name of a reference",
		"@": "not a name", "-x": "not a name", "a..b": "not a name", "a b": "not a name", "": "not a name",
	} {
		if err := CheckName(name); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("`%s`: got %v, want %q", name, err, want)
		}
	}
}

// TestElsewhere: a tree in another folder of the branch stays, and is told.
func TestElsewhere(t *testing.T) {
	folder, one := repository(t)
	b := openLocal(t, folder)
	done, err := b.Publish(t.Context(), one, by)
	if err != nil || len(done.Elsewhere) != 0 {
		t.Fatalf("got %+v, %v", done, err)
	}
	for _, at := range []string{".", "other"} {
		one.Folder = at
		if done, err = b.Publish(t.Context(), one, by); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(done.Elsewhere, " "); got != ". dist" {
		t.Errorf("elsewhere are %q", got)
	}
}

// TestToken: a remote over HTTP gets the token, and an error does not.
func TestToken(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "platform.git")
	run(t, ".", "init", "-q", "--bare", bare)
	run(t, bare, "config", "http.receivepack", "true")
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Dir: bare,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ada", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, token, _ := r.BasicAuth(); user != "x-access-token" || token != "good-token" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer server.Close()
	folder, one := repository(t)
	run(t, folder, "remote", "add", "origin", server.URL+"/platform.git")
	for token, want := range map[string]string{"good-token": "", "hunter2-secret": "authentication required", "": "authentication required"} {
		b, err := OpenRemote(folder, "origin", "rendered", Credentials{"x-access-token", token})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Publish(t.Context(), one, by)
		if fmt.Sprint(err) == "<nil>" != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || token != "" && strings.Contains(err.Error(), token)) {
			t.Errorf("with %q: got %v, want %q", token, err, want)
		}
	}
	if log := run(t, bare, "log", "--format=%s", "rendered"); log != "Publish one" {
		t.Errorf("the remote has %q", log)
	}
	run(t, folder, "remote", "set-url", "origin", "http://git.example.com/platform.git")
	if _, err := OpenRemote(folder, "origin", "rendered", Credentials{"x-access-token", "good-token"}); err == nil || !strings.Contains(err.Error(), "is not https") {
		t.Errorf("got %v: a token must not be readable on its way", err)
	}
}

func openLocal(t *testing.T, folder string) *Branch {
	b, err := OpenLocal(folder, "rendered")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// openRemote opens the branch of a remote that is made when it is needed.
func openRemote(t *testing.T, folder string) *Branch {
	bare := filepath.Join(folder, "..", filepath.Base(folder)+"-remote.git")
	if _, err := os.Stat(bare); err != nil {
		run(t, folder, "init", "-q", "--bare", bare)
		run(t, folder, "remote", "add", "origin", bare)
	}
	b, err := OpenRemote(folder, "origin", "rendered", Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
