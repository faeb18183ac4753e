package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/registry"

	"lockstep.dev/lockstep/test/bench/workload"
)

// branch is the branch of the compiled tree.
const branch = "rendered"

// git runs git in a folder, without the settings of whoever measures.
func git(ctx context.Context, folder string, args ...string) error {
	settings := []string{"-C", folder, "-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false"}
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...) //nolint:gosec // the arguments are ours
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// repository makes a git repository with two commits: the state base of a site, and a tenant changed in it. As in a clone, there is one
// pack.
func (s *site) repository(ctx context.Context, folder string) error {
	err := os.CopyFS(folder, os.DirFS(s.same))
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch", "main"}, {"add", "--all"}, {"commit", "--quiet", "--message", "The platform"}} {
		if err == nil {
			err = git(ctx, folder, args...)
		}
	}
	if err == nil {
		err = workload.ChangeTenant(folder, s.TenantFiles[len(s.TenantFiles)/2], 1001)
	}
	for _, args := range [][]string{{"commit", "--quiet", "--all", "--message", "A tenant gets more jobs"}, {"gc", "--quiet"}} {
		if err == nil {
			err = git(ctx, folder, args...)
		}
	}
	return err
}

// registries is a server with a registry that can be emptied.
type registries struct {
	now    atomic.Pointer[http.Handler]
	server *httptest.Server
}

func newRegistry() *registries {
	r := &registries{}
	r.empty()
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { (*r.now.Load()).ServeHTTP(w, q) }))
	return r
}

func (r *registries) empty() {
	fresh := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	r.now.Store(&fresh)
}

// reference names the artifact.
func (r *registries) reference() string {
	return "oci://" + strings.TrimPrefix(r.server.URL, "http://") + "/platform/mpi:main"
}

// publishPlans measure what is done with git: diff between revisions, and publish. The registry is one in this process, on loopback.
func (b *bench) publishPlans(ctx context.Context, s *site) (plans []*plan, end func(), err error) {
	fresh, published, used := filepath.Join(b.Dir, "fresh"), filepath.Join(b.Dir, "published"), filepath.Join(b.Dir, "used")
	if err := s.repository(ctx, fresh); err != nil {
		return nil, nil, err
	}
	// Copies: publish adds objects and moves the branch.
	from := func(repository string) func(context.Context, int) error {
		return func(context.Context, int) error {
			return errors.Join(os.RemoveAll(used), os.CopyFS(used, os.DirFS(repository)))
		}
	}
	if err := os.CopyFS(published, os.DirFS(fresh)); err != nil {
		return nil, nil, err
	}
	r := newRegistry()
	ofBranch := []string{"publish", "--branch", branch, "--root"}
	ofRegistry := []string{"publish", "--oci", r.reference(), "--root", fresh, "--revision", "HEAD"}
	first := b.ours(s, publishFirst, append(ofBranch, used, "--revision", "HEAD~1")...)
	first.Prepare = from(fresh)
	prepared := b.ours(s, publishFirst, append(ofBranch, published, "--revision", "HEAD~1")...)
	push := b.ours(s, publishArtifact, ofRegistry...)
	if _, err := prepared.Once(ctx, b.Meter, 0); err != nil {
		r.server.Close()
		return nil, nil, err
	}
	next := b.ours(s, publishNext, append(ofBranch, used, "--revision", "HEAD")...)
	next.Prepare = from(published)
	push.Prepare = func(context.Context, int) error { r.empty(); return nil }
	verified := b.ours(s, verifyArtifact, append(ofRegistry, "--verify")...)
	verified.Prepare = func(ctx context.Context, run int) error {
		_, err := push.Once(ctx, b.Meter, run)
		return err
	}
	return []*plan{
		b.ours(s, oneRevisions, "diff", "--root", fresh, "--from", "HEAD~1", "--to", "HEAD"),
		first, next, b.ours(s, verifyBranch, append(ofBranch, published, "--verify")...), push, verified,
	}, r.server.Close, nil
}
