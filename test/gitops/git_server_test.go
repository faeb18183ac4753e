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
	// url is that of the git repository.
	url string
}

func newGitServer(r *repository) *gitServer {
	GinkgoHelper()
	bare := filepath.Join(GinkgoT().TempDir(), "platform.git")
	run("git", "init", "--quiet", "--bare", "--initial-branch=main", bare)
	run("git", "init", "--quiet", "--initial-branch=main", r.root)
	run("git", "-C", r.root, "remote", "add", "origin", bare)
	backend := filepath.Join(strings.TrimSpace(run("git", "--exec-path")), "git-http-backend")
	server := httptest.NewTLSServer(&cgi.Handler{Path: backend, Root: "/", Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1"}})
	DeferCleanup(server.Close)
	return &gitServer{repository: r, url: server.URL + "/platform.git"}
}

// push commits what is in the folder and returns the revision.
func (g *gitServer) push() string {
	GinkgoHelper()
	run("git", "-C", g.root, "add", "--all")
	run("git", "-C", g.root, "-c", "user.name=Platform", "-c", "user.email=platform@example.com", "commit", "--quiet", "--allow-empty", "--message=Change")
	run("git", "-C", g.root, "push", "--quiet", "origin", "main")
	return strings.TrimSpace(run("git", "-C", g.root, "rev-parse", "HEAD"))
}
