package check

import (
	"regexp"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// mpiSupported asks for an implementation and version whose environment we know.
func mpiSupported(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if _, err := mpi.DialectOf(r.Implementation.V, r.Version.V); err != nil {
			list.Errorf(diag.MPIVersion, r.Version.At, "%v", err)
		}
	}
}

// newest are the last major versions for which environments and hostfiles are written, releases all that there are.
var (
	newest   = map[mpi.Implementation]int{mpi.OpenMPI: 5, mpi.MPICH: 5, mpi.IntelMPI: 2021}
	releases = map[mpi.Implementation]*regexp.Regexp{
		mpi.OpenMPI:  regexp.MustCompile(`^(4(\.[01](\.|$)|$)|5(\.|$))`),
		mpi.MPICH:    regexp.MustCompile(`^[1-5](\.|$)`),
		mpi.IntelMPI: regexp.MustCompile(`^20(1[789]|21)(\.|$)`),
	}
)

// mpiVersionsKnown warns of versions that the implementation does not have, such as later ones or another's. They are
// compiled like the newest one.
func mpiVersionsKnown(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		implementation, version := r.Implementation.V, r.Version.V
		if _, err := mpi.DialectOf(implementation, version); err != nil || releases[implementation].MatchString(version) {
			continue // mpiSupported reports the error
		}
		report := list.Warnf(diag.NewerMPI, r.Version.At, "%s %s is not known here: the newest is %d", implementation, version, newest[implementation]).
			Notef("it is compiled as %s %d is", implementation, newest[implementation])
		for _, other := range mpi.Implementations() {
			if releases[other].MatchString(version) {
				report.Helpf("write `implementation: %s`, which has a version %s, or correct `version`", other, version)
				break
			}
		}
		if len(report.Help) == 0 {
			report.Helpf("correct the version, or accept it with a waiver once a job ran on two nodes")
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

// mpiVersionsWork warns of versions with a known defect.
func mpiVersionsWork(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		for _, d := range defects {
			if r.Implementation.V == d.implementation && isVersionBefore(r.Version.V, d.before) {
				list.Warnf(diag.DefectiveMPI, r.Version.At, "with %s before %d.%d %s", d.implementation, d.before[0], d.before[1], d.what).
					Helpf("use an image with %s %d.%d or later", d.implementation, d.before[0], d.before[1])
			}
		}
	}
}

// isVersionBefore reports whether a version is certainly before another: one that names a major version alone may be any of it.
func isVersionBefore(version string, than [2]int) bool {
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
