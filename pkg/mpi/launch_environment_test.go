package mpi

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaunchEnvironment(t *testing.T) {
	always := map[string]string{
		"OMPI_MCA_orte_leave_session_attached": "true", "OMPI_MCA_if_base_do_not_resolve": "true", "I_MPI_PERHOST": "3",
	}
	flat := map[string]string{
		"OMPI_MCA_plm_rsh_no_tree_spawn": "true", "OMPI_MCA_plm_rsh_num_concurrent": "256",
		"PRTE_MCA_plm_ssh_no_tree_spawn": "true", "PRTE_MCA_plm_ssh_num_concurrent": "256",
	}
	tree := map[string]string{"OMPI_MCA_plm_rsh_no_tree_spawn": "false", "PRTE_MCA_plm_ssh_no_tree_spawn": "false"}
	cases := map[string]struct {
		reason string
		nodes  int
		want   map[string]string
	}{
		"one":  {"small jobs too: a lost node must be noticed", 1, flat},
		"flat": {"all daemons at once", 256, flat},
		"tree": {"above, daemons start daemons", 257, tree},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := maps.Clone(always)
			maps.Copy(want, tc.want)
			got := map[string]string{}
			for _, v := range LaunchEnvironment(tc.nodes, 3, false) {
				if v.Why == "" {
					t.Errorf("%s has no reason", v.Name)
				}
				got[v.Name] = v.Value
			}
			if diff := cmp.Diff(want, got); diff != "" {
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
		for _, v := range LaunchEnvironment(2, 1, launcherIsHost) {
			got[v.Name] = v.Value
		}
		if got[KeepFQDNVariable] != want || got["OMPI_MCA_if_base_do_not_resolve"] != "true" {
			t.Errorf("with the launcher as a host %v: %v", launcherIsHost, got)
		}
	}
}

// With fewer remote shells at a time than nodes, a flat launch whose shells stay would never end.
func TestFlatLaunchHasAShellForEveryNode(t *testing.T) {
	for _, v := range LaunchEnvironment(MaxFlatNodes, 1, true) {
		if n, err := strconv.Atoi(v.Value); strings.HasSuffix(v.Name, "num_concurrent") && (err != nil || n < MaxFlatNodes) {
			t.Errorf("%s=%s", v.Name, v.Value)
		}
	}
}
