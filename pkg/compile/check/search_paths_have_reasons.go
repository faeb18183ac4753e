package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// pathVariables decide which programs and libraries a process gets. The value of a spec takes the place of that of the image: nothing is
// appended. Nobody but the jobs of the runtime is concerned, as the image itself is its author's choice, so that a reason is enough.
var pathVariables = []string{"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH"}

// searchPathsHaveReasons warns of variables that hide what the image has in its search paths.
func searchPathsHaveReasons(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			if slices.Contains(pathVariables, v.Name.V) && v.Why == "" {
				list.Warnf(diag.VariableHidesImage, v.Name.At, "`%s` replaces that of the image", v.Name.V).
					Notef("programs or libraries that are found by the image's own value are not found any more").
					Helpf("set it in the image, or say at `reason` why it is right for every image of the runtime")
			}
		}
	}
}
