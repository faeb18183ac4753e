package mpi

import (
	"slices"
	"testing"
)

// An image with another MPI than its runtime runs on all nodes all the same: each launcher finds the hosts of the job, the
// agent as its remote shell, and the interface of the pods.
func TestEnvironmentSpeaksEveryDialect(t *testing.T) {
	wiring := []string{
		"OMPI_MCA_orte_default_hostfile=" + HostfilePath, "OMPI_MCA_plm_rsh_agent=" + RshBin, "OMPI_MCA_oob_tcp_if_include=eth0",
		"PRTE_MCA_prte_default_hostfile=" + HostfilePath, "PRTE_MCA_plm_ssh_agent=" + RshBin, "PRTE_MCA_prte_if_include=eth0",
		"HYDRA_HOST_FILE=" + HydraHostfilePath, "HYDRA_LAUNCHER_EXEC=" + RshBin, "HYDRA_IFACE=eth0",
		"I_MPI_HYDRA_HOST_FILE=" + HydraHostfilePath, "I_MPI_HYDRA_BOOTSTRAP_EXEC=" + RshBin, "I_MPI_HYDRA_IFACE=eth0",
	}
	for _, dialect := range dialects {
		set := map[string]bool{}
		names := map[string]bool{}
		for _, v := range Environment(dialect, Network{Fabric: Ethernet, Interface: "eth0"}) {
			if v.Why == "" || v.Value == "" || names[v.Name] {
				t.Errorf("%s: %+v must be there once, with value and reason", dialect, v)
			}
			set[v.Name+"="+v.Value], names[v.Name] = true, true
		}
		for _, pair := range append(wiring, DialectVariable+"="+string(dialect)) {
			if !set[pair] {
				t.Errorf("%s: %s is missing, a launcher would run alone", dialect, pair)
			}
		}
	}
}

// What two dialects would set differently is the runtime's own.
func TestEnvironmentOfTheRuntimeWins(t *testing.T) {
	network := Network{Fabric: EFA, Interface: "eth0"}
	for _, dialect := range dialects {
		got := map[string]string{}
		for _, v := range Environment(dialect, network) {
			got[v.Name] = v.Value
		}
		for _, v := range network.variables(dialect) {
			if got[v.Name] != v.Value {
				t.Errorf("%s: %s=%s, want %s", dialect, v.Name, got[v.Name], v.Value)
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
		"OMPI_MCA_orte_rsh_agent":           true,
		"PRTE_MCA_plm_rsh_agent":            true,
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
