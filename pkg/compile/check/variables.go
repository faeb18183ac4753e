package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// variablesNotReserved refuses variables without which a job would lose its nodes.
func variablesNotReserved(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, v := range append(append([]plan.Variable(nil), r.Profile.Env...), r.Env...) {
			if mpi.ReservedVariable(v.Name.V) {
				list.Errorf(diag.ReservedVariable, v.Name.At, "the variable `%s` carries the wiring of a job", v.Name.V).
					Helpf("remove it: the runtime sets what its MPI implementation needs")
			}
		}
	}
}
