package mpi

import "testing"

func TestDialectOf(t *testing.T) {
	cases := map[string]struct {
		reason         string
		implementation Implementation
		version        string
		want           Dialect
		fails          bool
	}{
		"OpenMPI4":     {"Open MPI 4 reads ORTE names", OpenMPI, "4.1.4", ORTE, false},
		"OpenMPI5":     {"Open MPI 5 ignores ORTE names", OpenMPI, "5.0.7", PRRTE, false},
		"OpenMPI10":    {"the major number is a number, not a digit", OpenMPI, "10", PRRTE, false},
		"MPICH":        {"any MPICH is Hydra", MPICH, "4.0.2", Hydra, false},
		"IntelMPI":     {"Intel renamed Hydra's variables", IntelMPI, "2021.11", IntelHydra, false},
		"OpenMPI3":     {"too old to support", OpenMPI, "3.1", "", true},
		"Unknown":      {"no dialect, no job", "LAM", "7", "", true},
		"NoVersion":    {"the version decides, so it is needed", OpenMPI, "", "", true},
		"WordyVersion": {"not a version", OpenMPI, "latest", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := DialectOf(tc.implementation, tc.version)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s: DialectOf() = %q, %v; want %q, failure = %t", tc.reason, got, err, tc.want, tc.fails)
			}
		})
	}
}
