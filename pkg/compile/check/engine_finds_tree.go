package check

import (
	"path"
	"regexp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// notABranch is what names a commit or a tag, or has what git puts before the name of a branch.
var notABranch = regexp.MustCompile(`^([0-9a-f]{40}|v\d+\.\d+.*|refs/.*|origin/.*|HEAD)$`)

// engineFindsTree warns of places in the repository where the engine finds nothing: a tag where Flux looks for a branch, and the folder of
// one cluster where that of all is meant.
func engineFindsTree(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	if g == nil {
		return
	}
	if g.Flux.V && notABranch.MatchString(g.Revision.V) {
		list.Warnf(diag.TreeNotFound, g.Revision.At, "`%s` is hardly a branch, and Flux looks for a branch of that name", g.Revision.V).
			Helpf("write the name of a branch, such as `main`")
	}
	if path.Base(g.Path.V) == c.Name.V {
		list.Warnf(diag.TreeNotFound, g.Path.At, "the engine would look in `%s/%s`: the name of the cluster is added to `path`", g.Path.V, c.Name.V).
			Helpf("write the folder of all clusters, `%s`", path.Dir(g.Path.V))
	}
}
