package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// reservedReleases are names that the compiler's own files in platform/ have.
var reservedReleases = map[string]bool{"platform": true, "kustomization": true, "overlay": true}

// releaseNamesDiffer refuses two components with one release name, and names that would hide a file of ours.
func releaseNamesDiffer(c *plan.Cluster, list *diag.List) {
	for i, component := range c.Components {
		name := component.Release
		switch {
		case reservedReleases[name.V]:
			list.Errorf(diag.ReleaseTaken, name.At, "the release name `%s` is reserved for the platform's own file", name.V).
				Helpf("choose another `release`")
		case i > 0 && c.Components[i-1].Release.V == name.V:
			list.Errorf(diag.ReleaseTaken, name.At, "two components have the release name `%s`", name.V).
				Also(c.Components[i-1].Release.At, "also here").Helpf("choose another `release`")
		}
	}
}
