package check

import (
	"path"
	"regexp"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// notABranch is what names a commit or a tag, or has what git puts before the name of a branch.
var notABranch = regexp.MustCompile(`^([0-9a-f]{40}|v\d+\.\d+.*|refs/.*|origin/.*|HEAD)$`)

// pageOfForge is the address of a folder or a file as browsers show it.
var pageOfForge = regexp.MustCompile(`^https?://[^/]+/.+/(tree|blob|commits?|src/(branch|tag|commit))/`)

// engineFindsTree warns of places in the repository where the engine finds nothing: a tag where Flux looks for a branch, and the folder of
// one cluster where that of all is meant.
func engineFindsTree(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	if g == nil {
		return
	}
	engineFindsRepository(g, &g.Repository, &g.Revision, list)
	for _, t := range c.Tenants {
		if t.Jobs != nil {
			engineFindsRepository(g, &t.Jobs.Repository, &t.Jobs.Revision, list)
		}
	}
	if path.Base(g.Path.V) == c.Name.V {
		list.Warnf(diag.TreeNotFound, g.Path.At, "the engine would look in `%s/%s`: the name of the cluster is added to `path`", g.Path.V, c.Name.V).
			Helpf("write the folder of all clusters, `%s`", path.Dir(g.Path.V))
	}
}

func engineFindsRepository(g *plan.GitOps, repository, revision *plan.Value[string], list *diag.List) {
	if g.Flux.V && notABranch.MatchString(revision.V) {
		list.Warnf(diag.TreeNotFound, revision.At,
			"`%s` is hardly a branch, and Flux looks for a branch of that name", revision.V).
			Helpf("write the name of a branch, such as `main`")
	}
	if pageOfForge.MatchString(repository.V) && !strings.HasSuffix(repository.V, ".git") {
		list.Warnf(diag.TreeNotFound, repository.At, "`%s` is hardly a repository: forges show a page there", repository.V).
			Helpf("write the address that `git clone` takes, and the branch and the folder as `revision` and `path`")
	}
}
