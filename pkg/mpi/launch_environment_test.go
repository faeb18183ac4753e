package mpi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaunchEnvironment(t *testing.T) {
	const attached, unresolved = "OMPI_MCA_orte_leave_session_attached", "OMPI_MCA_if_base_do_not_resolve"
	flat := map[string]string{
		attached: "true", unresolved: "true", "OMPI_MCA_plm_rsh_no_tree_spawn": "true", "OMPI_MCA_plm_rsh_num_concurrent": "256",
	}
	cases := map[string]struct {
		reason  string
		dialect Dialect
		nodes   int
		want    map[string]string
	}{
		"one":         {"small jobs too: a lost node must be noticed", ORTE, 1, flat},
		"flat":        {"all daemons at once", ORTE, 256, flat},
		"tree":        {"above, daemons start daemons", ORTE, 257, map[string]string{attached: "true", unresolved: "true", "OMPI_MCA_plm_rsh_no_tree_spawn": "false"}},
		"flat, PRRTE": {"under its own names", PRRTE, 256, map[string]string{"PRTE_MCA_plm_ssh_no_tree_spawn": "true", "PRTE_MCA_plm_ssh_num_concurrent": "256"}},
		"tree, PRRTE": {"under its own names", PRRTE, 5000, map[string]string{"PRTE_MCA_plm_ssh_no_tree_spawn": "false"}},
		"MPICH":       {"Hydra keeps its shells", Hydra, 1000, map[string]string{}},
		"Intel":       {"its Hydra would fill the first machine", IntelHydra, 1000, map[string]string{"I_MPI_PERHOST": "3"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, v := range LaunchEnvironment(tc.dialect, tc.nodes, 3, false) {
				if v.Why == "" {
					t.Errorf("%s has no reason", v.Name)
				}
				got[v.Name] = v.Value
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// A launcher that runs ranks is a host of the hostfile. ORTE has to know it without DNS, which may have the address of the pod before it, or
// none yet.
func TestALauncherThatIsAHostIsKnownByTheNameOfItsKernel(t *testing.T) {
	for launcherIsHost, want := range map[bool]string{true: "false", false: ""} {
		got := map[string]string{}
		for _, v := range LaunchEnvironment(ORTE, 2, 1, launcherIsHost) {
			got[v.Name] = v.Value
		}
		if got[KeepFQDNVariable] != want || got["OMPI_MCA_if_base_do_not_resolve"] != "true" {
			t.Errorf("with the launcher as a host %v: %v", launcherIsHost, got)
		}
	}
}

// With fewer remote shells at a time than nodes, a flat launch whose shells stay would never end.
func TestFlatLaunchHasAShellForEveryNode(t *testing.T) {
	for _, dialect := range []Dialect{ORTE, PRRTE} {
		for _, v := range LaunchEnvironment(dialect, MaxFlatNodes, 1, true) {
			if n, err := strconv.Atoi(v.Value); strings.HasSuffix(v.Name, "num_concurrent") && (err != nil || n < MaxFlatNodes) {
				t.Errorf("%s: %s=%s", dialect, v.Name, v.Value)
			}
		}
	}
}
