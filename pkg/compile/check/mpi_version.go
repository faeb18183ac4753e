package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// supportedMPI asks for an implementation and version whose environment we know.
func supportedMPI(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if _, err := mpi.DialectOf(r.Implementation.V, r.Version.V); err != nil {
			list.Errorf(diag.MPIVersion, r.Version.At, "%v", err)
		}
	}
}
