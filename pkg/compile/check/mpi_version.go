package check

import (
	"strconv"
	"strings"

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

// defects are versions of MPI with which jobs fail through no fault of their own. docs/limits.md has the same.
var defects = []struct {
	implementation mpi.Implementation
	// before is the first release without the defect, as major and minor.
	before [2]int
	what   string
}{
	{mpi.MPICH, [2]int{4, 2}, "ranks often wait forever in MPI_Finalize over TCP (pmodels/mpich#6596)"},
}

// versionsWork warns of versions with a known defect.
func versionsWork(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		for _, d := range defects {
			if r.Implementation.V == d.implementation && earlier(r.Version.V, d.before) {
				list.Warnf(diag.DefectiveMPI, r.Version.At, "with %s before %d.%d %s", d.implementation, d.before[0], d.before[1], d.what).
					Helpf("use an image with %s %d.%d or later", d.implementation, d.before[0], d.before[1])
			}
		}
	}
}

// earlier reports whether a version is certainly before another: one that names a major version alone may be any of it.
func earlier(version string, than [2]int) bool {
	parts := strings.Split(version, ".")
	for i, bound := range than {
		if i >= len(parts) {
			return false
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n > bound {
			return false
		}
		if n < bound {
			return true
		}
	}
	return false
}
