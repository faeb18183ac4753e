package mpi

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironmentSpeaksOneDialect(t *testing.T) {
	prefixes := map[Dialect][]string{
		ORTE:       {"OMPI_MCA_"},
		PRRTE:      {"PRTE_MCA_", "OMPI_MCA_"},
		Hydra:      {"HYDRA_", "UCX_", "FI_"},
		IntelHydra: {"I_MPI_", "FI_"},
	}
	for dialect, allowed := range prefixes {
		for _, v := range Environment(dialect, Network{Fabric: Ethernet, Interface: "eth0"}) {
			if v.Name == "SHELL" {
				continue
			}
			if v.Why == "" || v.Value == "" || !hasAnyPrefix(v.Name, allowed) {
				t.Errorf("%s: %+v must belong to the dialect and state value and reason", dialect, v)
			}
		}
	}
}

func TestEnvironmentTellsTheHostfileAndTheAgent(t *testing.T) {
	want := map[Dialect][2]string{
		ORTE:       {"OMPI_MCA_orte_default_hostfile=" + HostfilePath, "OMPI_MCA_plm_rsh_agent=" + RshBin},
		PRRTE:      {"PRTE_MCA_prte_default_hostfile=" + HostfilePath, "PRTE_MCA_plm_ssh_agent=" + RshBin},
		Hydra:      {"HYDRA_HOST_FILE=" + HydraHostfilePath, "HYDRA_LAUNCHER_EXEC=" + RshBin},
		IntelHydra: {"I_MPI_HYDRA_HOST_FILE=" + HydraHostfilePath, "I_MPI_HYDRA_BOOTSTRAP_EXEC=" + RshBin},
	}
	for dialect, pairs := range want {
		set := map[string]bool{}
		for _, v := range Environment(dialect, Network{}) {
			set[v.Name+"="+v.Value] = true
		}
		for _, pair := range pairs {
			if !set[pair] {
				t.Errorf("%s: %s is missing, the launcher would run alone", dialect, pair)
			}
		}
	}
}

// Unbound ranks: MPICH's Hydra binds nobody by itself.
func TestRanksOfSeveralPodsDoNotShareACore(t *testing.T) {
	for dialect, want := range map[Dialect]string{
		ORTE: "OMPI_MCA_hwloc_base_binding_policy=none", PRRTE: "PRTE_MCA_hwloc_default_binding_policy=none", IntelHydra: "I_MPI_PIN=0",
	} {
		if !slices.ContainsFunc(Environment(dialect, Network{}), func(v Variable) bool { return v.Name+"="+v.Value == want }) {
			t.Errorf("%s: %s is missing", dialect, want)
		}
	}
}

func TestReservedVariable(t *testing.T) {
	for name, want := range map[string]bool{
		"OMPI_MCA_plm_rsh_agent":         true,
		"PRTE_MCA_prte_default_hostfile": true,
		// The rest of what kubeflow/trainer#4029 reserves.
		"PRTE_MCA_prte_keep_fqdn_hostnames": true,
		"PRTE_MCA_prte_set_default_slots":   true,
		"PRTE_MCA_plm_ssh_args":             true,
		"PRTE_MCA_prte_if_include":          false,
		"HYDRA_HOST_FILE":                   true,
		"I_MPI_PERHOST":                     false,
		"I_MPI_PIN":                         false,
		"OMPI_MCA_btl_tcp_if_include":       false,
		"NCCL_DEBUG":                        false,
	} {
		if got := IsReservedVariable(name); got != want {
			t.Errorf("ReservedVariable(%q) = %t, want %t", name, got, want)
		}
	}
}

func hasAnyPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
