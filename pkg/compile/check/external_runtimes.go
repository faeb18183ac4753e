package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// externalRuntimesRun asks that somebody runs the jobs of runtimes that others installed: Kubeflow Trainer does. What kind such a
// runtime is nobody knows here; our controller would run one of MPI, so that a spec may accept the finding.
func externalRuntimesRun(c *plan.Cluster, list *diag.List) {
	if !c.Bundled.V {
		return
	}
	for _, t := range c.Tenants {
		for i := range t.External {
			name := &t.External[i]
			if catalogRuntime(c, name.V) != nil {
				continue // one of ours is run, and named in the wrong list: that is the mistake
			}
			list.Errorf(diag.ExternalRuntimeNotRun, name.At, "nobody on the cluster `%s` would run jobs of the runtime `%s`: mpi-controller runs those of MPI runtimes only", c.Name.V, name.V).
				Also(c.Bundled.At, "the executor is `Bundled`").
				Helpf("set `executor: KubeflowTrainer` where Kubeflow Trainer runs, or remove the runtime; a patch in the cluster's overlay does so for one cluster")
		}
	}
}

// externalRuntimesAreOthers keeps our own runtimes out of the list: as one of others a runtime would lose its bounds.
func externalRuntimesAreOthers(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for i := range t.External {
			name := &t.External[i]
			if own := catalogRuntime(c, name.V); own != nil {
				list.Errorf(diag.ExternalRuntimeIsOurs, name.At, "the runtime `%s` is compiled here, and none of others", name.V).
					Also(own.Name.At, "defined here").Helpf("name it in `runtimes`")
			}
		}
	}
}

// catalogRuntime returns the runtime of the catalog with the name, or nil.
func catalogRuntime(c *plan.Cluster, name string) *plan.Runtime {
	own := slices.IndexFunc(c.Catalog, func(r *plan.Runtime) bool { return r.Name.V == name })
	if own < 0 {
		return nil
	}
	return c.Catalog[own]
}
