package check

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// variablesNotReserved refuses variables without which a job would lose its nodes.
func variablesNotReserved(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, v := range append(append([]plan.Variable(nil), r.Profile.Env...), r.Env...) {
			if mpi.IsReservedVariable(v.Name.V) {
				list.Errorf(diag.ReservedVariable, v.Name.At, "the variable `%s` carries the wiring of a job", v.Name.V).
					Helpf("remove it: the runtime sets what its MPI implementation needs")
			}
		}
	}
}

// variablesDiffer refuses a variable that a spec sets twice: Kubernetes takes the last, and a reader the first. A runtime may
// replace what its profile sets, and a variant what its runtime sets.
func variablesDiffer(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		reportVariableTwice(r.Profile.Env, list)
		reportVariableTwice(r.Env, list)
	}
}

func reportVariableTwice(variables []plan.Variable, list *diag.List) {
	for i, v := range variables {
		before := slices.IndexFunc(variables[:i], func(other plan.Variable) bool {
			return other.Name.V == v.Name.V && other.Name.At.File == v.Name.At.File
		})
		if before >= 0 {
			list.Errorf(diag.RepeatedItem, v.Name.At, "the variable `%s` is set twice", v.Name.V).
				Also(variables[before].Name.At, "also here").Helpf("remove one of them")
		}
	}
}

// readers are prefixes of variables, with the implementations that read them. PMIx, UCX, libfabric and NCCL are below all of them.
var readers = []struct {
	prefix   string
	dialects []mpi.Dialect
}{
	{"OMPI_MCA_", []mpi.Dialect{mpi.ORTE, mpi.PRRTE}},
	{"PRTE_MCA_", []mpi.Dialect{mpi.PRRTE}},
	{"I_MPI_", []mpi.Dialect{mpi.IntelHydra}},
	{"MPIR_CVAR_", []mpi.Dialect{mpi.Hydra, mpi.IntelHydra}},
	{"MPICH_", []mpi.Dialect{mpi.Hydra, mpi.IntelHydra}},
	{"HYDRA_", []mpi.Dialect{mpi.Hydra, mpi.IntelHydra}},
	{"MV2_", nil},
}

// variablesAreOfRuntimeMPI warns of the settings of another MPI than the runtime's. A profile may set those of all that use its machines.
func variablesAreOfRuntimeMPI(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		dialect, err := mpi.DialectOf(r.Implementation.V, r.Version.V)
		if err != nil {
			continue // mpiSupported reports it
		}
		for _, v := range r.Env {
			if isOfOtherMPI(v.Name.V, dialect) && !mpi.IsReservedVariable(v.Name.V) {
				list.Warnf(diag.VariableNotRead, v.Name.At, "%s %s does not read `%s`", r.Implementation.V, r.Version.V, v.Name.V).
					Also(r.Implementation.At, "the runtime has this MPI").
					Helpf("remove it, or set what this MPI reads in its place")
			}
		}
	}
}

// isOfOtherMPI reports whether only other implementations read a variable.
func isOfOtherMPI(name string, dialect mpi.Dialect) bool {
	for _, reader := range readers {
		if strings.HasPrefix(name, reader.prefix) {
			return !slices.Contains(reader.dialects, dialect)
		}
	}
	return false
}
