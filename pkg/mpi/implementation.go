package mpi

import (
	"fmt"
	"strconv"
	"strings"
)

// Implementation is an MPI library family.
type Implementation string

// The implementations that a runtime may name.
const (
	OpenMPI  Implementation = "OpenMPI"
	IntelMPI Implementation = "IntelMPI"
	MPICH    Implementation = "MPICH"
)

// Implementations lists them in the order in which messages name them.
func Implementations() []Implementation { return []Implementation{OpenMPI, IntelMPI, MPICH} }

// Dialect is the language that a launcher speaks: which environment it reads and how its hostfile is written. Open MPI
// changed it between 4 and 5, and 5 ignores the old names silently, so the version decides.
type Dialect string

// The dialects.
const (
	// ORTE is the launcher of Open MPI up to 4.
	ORTE Dialect = "ORTE"
	// PRRTE is the launcher of Open MPI from 5.
	PRRTE Dialect = "PRRTE"
	// Hydra is the launcher of MPICH.
	Hydra Dialect = "Hydra"
	// IntelHydra is Intel's Hydra, with environment names of its own.
	IntelHydra Dialect = "IntelHydra"
)

// dialects fixes the order in which Environment adds the variables of dialects other than the runtime's.
var dialects = []Dialect{ORTE, PRRTE, Hydra, IntelHydra}

// IsHydra reports whether a dialect is one of the Hydra launchers, whose hostfiles have the same syntax.
func (d Dialect) IsHydra() bool { return d == Hydra || d == IntelHydra }

// Product returns the name under which users know the MPI that speaks a dialect.
func (d Dialect) Product() string {
	return map[Dialect]string{ORTE: "Open MPI 4", PRRTE: "Open MPI 5", Hydra: "MPICH", IntelHydra: "Intel MPI"}[d]
}

// DialectOf returns the dialect of an implementation in a version such as "4", "5.0" or "5.0.7". Only the major number
// is read. It fails for an unknown implementation, a version that does not start with a number, and Open MPI before 4.
func DialectOf(implementation Implementation, version string) (Dialect, error) {
	major, err := majorVersion(version)
	if err != nil {
		return "", err
	}
	switch {
	case implementation == OpenMPI && major >= 5:
		return PRRTE, nil
	case implementation == OpenMPI && major == 4:
		return ORTE, nil
	case implementation == OpenMPI:
		return "", fmt.Errorf("Open MPI %s is too old: 4 and later are supported", version)
	case implementation == MPICH:
		return Hydra, nil
	case implementation == IntelMPI:
		return IntelHydra, nil
	}
	return "", fmt.Errorf("unknown MPI implementation `%s`: allowed are %v", implementation, Implementations())
}

func majorVersion(version string) (int, error) {
	first, _, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(first)
	if err != nil || major < 0 {
		return 0, fmt.Errorf("MPI version `%s` must start with a number, such as `5.0.7`", version)
	}
	return major, nil
}
