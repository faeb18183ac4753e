package gitops

import (
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// gitServer serves the commits of a repository as hosts of git do: by git's own program for HTTP.
type gitServer struct {
	*repository
	// url leads to the git repository, base to the host, which serves what is in the folder.
	url, base, folder string
}

func newGitServer(r *repository) *gitServer {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	backend := filepath.Join(strings.TrimSpace(run("git", "--exec-path")), "git-http-backend")
	server := httptest.NewTLSServer(&cgi.Handler{Path: backend, Root: "/", Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1"}})
	DeferCleanup(server.Close)
	return (&gitServer{folder: folder, base: server.URL}).beside(r, "platform")
}

// beside serves another repository from the same host.
func (g *gitServer) beside(r *repository, name string) *gitServer {
	GinkgoHelper()
	bare := filepath.Join(g.folder, name+".git")
	run("git", "init", "--quiet", "--bare", "--initial-branch=main", bare)
	run("git", "init", "--quiet", "--initial-branch=main", r.root)
	run("git", "-C", r.root, "remote", "add", "origin", bare)
	return &gitServer{repository: r, folder: g.folder, base: g.base, url: g.base + "/" + name + ".git"}
}

// push commits what is in the folder and returns the revision.
func (g *gitServer) push() string {
	GinkgoHelper()
	run("git", "-C", g.root, "add", "--all")
	run("git", "-C", g.root, "-c", "user.name=Platform", "-c", "user.email=platform@example.com", "commit", "--quiet", "--allow-empty", "--message=Change")
	run("git", "-C", g.root, "push", "--quiet", "origin", "main")
	return strings.TrimSpace(run("git", "-C", g.root, "rev-parse", "HEAD"))
}
