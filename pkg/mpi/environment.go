package mpi

import (
	"slices"
	"strconv"
	"strings"
)

// Variable is one environment variable of a pod and the reason why it is there. The compiler's `explain` prints the
// reason.
type Variable struct {
	Name  string
	Value string
	// Why is one sentence with the source of the rule.
	Why string
}

// Environment returns the variables by which launcher and nodes find each other over a network, in a stable order: those of
// the runtime's dialect first, then those of all others. The image of a TrainJob may bring another MPI than its runtime, and
// a launcher that finds no variable it knows starts all ranks in its own pod and exits 0.
func Environment(dialect Dialect, network Network) []Variable {
	variables := []Variable{{
		"SHELL", "/bin/bash",
		"a UID without passwd entry has no login shell; with bash Open MPI starts its daemon directly and does not source ./.profile",
	}, {
		DialectVariable, string(dialect), "if a launch ran smaller than asked, the agent compares this with the MPI of the image",
	}}
	variables = append(append(variables, wiring[dialect]()...), network.variables(dialect)...)
	for _, other := range dialects {
		for _, v := range append(wiring[other](), network.otherVariables(other)...) {
			if !slices.ContainsFunc(variables, func(known Variable) bool { return known.Name == v.Name }) {
				variables = append(variables, Variable{v.Name, v.Value, "if the image has " + other.Product() + " instead: " + v.Why})
			}
		}
	}
	return variables
}

// wiring returns by dialect the variables with which a launcher finds the nodes.
var wiring = map[Dialect]func() []Variable{
	ORTE: orteVariables, PRRTE: prrteVariables, Hydra: hydraVariables, IntelHydra: intelVariables,
}

const refusedAtFirst = "policy engines learn of new pods late and refuse them at first; a daemon that cannot reach mpirun gives the job up at once, unless it has a delay in seconds after which it tries again, ten times"

// DialectVariable holds the dialect of the runtime.
const DialectVariable = "LOCKSTEP_MPI"

// KeepFQDNVariable has ORTE keep the names of hosts as the hostfile has them.
const KeepFQDNVariable = "OMPI_MCA_orte_keep_fqdn_hostnames"

func orteVariables() []Variable {
	return []Variable{
		{"OMPI_MCA_orte_default_hostfile", HostfilePath, "the nodes of the job"},
		{KeepFQDNVariable, "true", "ORTE would cut `w-0.svc` to `w-0`, which nobody can resolve"},
		{"OMPI_MCA_plm_rsh_agent", RshBin, "daemons are started through the agent, the image needs no ssh"},
		{"OMPI_MCA_plm_rsh_no_tree_spawn", "true", "tree spawn hangs for some host counts (open-mpi/ompi#7087, #8282)"},
		{"OMPI_MCA_oob_tcp_retry_delay", "1", refusedAtFirst},
		{"OMPI_MCA_hwloc_base_binding_policy", "none", "pods share the cores of a node; binding would put all jobs on core 0"},
	}
}

func prrteVariables() []Variable {
	return []Variable{
		{"PRTE_MCA_prte_default_hostfile", HostfilePath, "the nodes of the job; Open MPI 5 ignores every ORTE name silently"},
		{"PRTE_MCA_plm_ssh_agent", RshBin, "daemons are started through the agent, the image needs no ssh"},
		{"PRTE_MCA_plm_ssh_no_tree_spawn", "true", "tree spawn hangs for some host counts (open-mpi/ompi#7087, #8282)"},
		{"PRTE_MCA_oob_tcp_retry_delay", "1", refusedAtFirst},
		{"PRTE_MCA_hwloc_default_binding_policy", "none", "pods share the cores of a node; binding would put all jobs on core 0"},
	}
}

func hydraVariables() []Variable {
	return []Variable{
		{"HYDRA_HOST_FILE", HydraHostfilePath, "the nodes of the job in Hydra's own syntax, written by the agent"},
		{"HYDRA_LAUNCHER", "ssh", "Hydra's name for a remote shell"},
		{"HYDRA_LAUNCHER_EXEC", RshBin, "daemons are started through the agent; Hydra takes one path without arguments"},
	}
}

func intelVariables() []Variable {
	return []Variable{
		{"I_MPI_HYDRA_HOST_FILE", HydraHostfilePath, "the nodes of the job in Hydra's own syntax, written by the agent"},
		{"I_MPI_HYDRA_BOOTSTRAP", "ssh", "Hydra's name for a remote shell"},
		{"I_MPI_HYDRA_BOOTSTRAP_EXEC", RshBin, "daemons are started through the agent, the image needs no ssh"},
		{"I_MPI_HYDRA_BRANCH_COUNT", strconv.Itoa(MaxFlatNodes), "from 17 nodes on proxies would start proxies, and a lost node would take those below it along"},
		{"I_MPI_PIN", "0", "pods share the cores of a node; pinning would put all jobs on core 0"},
	}
}

// reserved names what a user must not set, because the job would lose its nodes.
var reserved = []string{
	"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots",
	"OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_rsh_args",
	"PRTE_MCA_prte_default_hostfile", "PRTE_MCA_prte_keep_fqdn_hostnames", "PRTE_MCA_prte_set_default_slots",
	"PRTE_MCA_plm_ssh_agent", "PRTE_MCA_plm_ssh_args",
	// Older names of both agents, and a mixture.
	"OMPI_MCA_orte_rsh_agent", "OMPI_MCA_pls_rsh_agent",
	"PRTE_MCA_prte_ssh_agent", "PRTE_MCA_pls_ssh_agent", "PRTE_MCA_plm_rsh_agent",
	"HYDRA_HOST_FILE", "HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXEC",
	"I_MPI_HYDRA_HOST_FILE", "I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC",
}

// IsReservedVariable reports whether a variable carries the wiring of a job. Upstream reserves its four names of Open MPI 4
// (kubeflow/trainer pkg/constants MPIReservedEnvNames), and those of Open MPI 5 that mean the same from the release on that sets them
// (kubeflow/trainer#4029). The others follow from Environment.
func IsReservedVariable(name string) bool {
	for _, r := range reserved {
		if strings.EqualFold(r, name) {
			return true
		}
	}
	return false
}
