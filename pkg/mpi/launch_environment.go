package mpi

import "strconv"

// MaxFlatNodes is the number of nodes up to which the launcher starts all daemons itself. Above, daemons start daemons.
const MaxFlatNodes = 256

// LaunchEnvironment returns what the numbers of nodes and of their slots decide, which only a job knows: the agent adds it to
// the environment of the user's command. Values that the user has set win. Each launcher reads the variables of its own
// dialect only.
//
// PRRTE keeps its remote shells by itself. MPICH's Hydra starts all its proxies from mpiexec and keeps its remote shells:
// nothing is set for it.
//
// launcherIsHost says that the hostfile names the launcher too, which ORTE then has to recognise.
func LaunchEnvironment(nodes int, slots int32, launcherIsHost bool) []Variable {
	variables := []Variable{{
		"I_MPI_PERHOST", strconv.Itoa(int(slots)),
		"Intel's Hydra ignores the slots in its hostfile: it gives each host as many ranks as its machine has cores",
	}, {
		"OMPI_MCA_orte_leave_session_attached", "true",
		"ORTE's flat launch detaches daemons from their remote shells: a frozen pod or a cut network would never be noticed",
	}, {
		"OMPI_MCA_if_base_do_not_resolve", "true",
		"ORTE asks DNS whether a host of the hostfile is the launcher itself, and without DNS that takes 15 s per host",
	}}
	if launcherIsHost {
		variables = append(variables, Variable{
			KeepFQDNVariable, "false",
			"ORTE knows its own host by the kernel's name; by the longer one only once DNS has the address of this very pod",
		})
	}
	for _, shell := range []string{"OMPI_MCA_plm_rsh_", "PRTE_MCA_plm_ssh_"} {
		variables = append(variables, daemonTree(shell, nodes)...)
	}
	return variables
}

// daemonTree returns how a launcher of Open MPI, whose remote shell has the given prefix, starts the daemons of so many nodes.
func daemonTree(shell string, nodes int) []Variable {
	if nodes > MaxFlatNodes {
		return []Variable{{
			shell + "no_tree_spawn", "false",
			"above " + strconv.Itoa(MaxFlatNodes) + " nodes one launcher is too slow: daemons start daemons, through their own agents",
		}}
	}
	return []Variable{
		{shell + "no_tree_spawn", "true", "tree spawn hangs for some host counts (open-mpi/ompi#7087, #8282)"},
		{
			shell + "num_concurrent", strconv.Itoa(MaxFlatNodes),
			"remote shells stay attached, and mpirun needs a place for each: with too few, Open MPI 4.1.4 dies of SIGSEGV",
		},
	}
}
