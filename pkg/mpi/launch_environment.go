package mpi

import "strconv"

// MaxFlatNodes is the number of nodes up to which the launcher starts all daemons itself. Above, daemons start daemons.
const MaxFlatNodes = 256

// LaunchEnvironment returns what the numbers of nodes and of their slots decide, which only a job knows: the agent adds it to the
// environment of the user's command. Values that the user has set win.
//
// PRRTE keeps its remote shells by itself. Hydra starts all its proxies from mpiexec and keeps its remote shells: nothing is set for it.
//
// LauncherIsHost says that the hostfile names the launcher too, which ORTE then has to recognise.
func LaunchEnvironment(dialect Dialect, nodes int, slots int32, launcherIsHost bool) []Variable {
	if dialect == IntelHydra {
		return []Variable{{
			"I_MPI_PERHOST", strconv.Itoa(int(slots)),
			"Intel's Hydra takes no notice of the slots in its hostfile: it gives each host as many ranks as its machine has cores",
		}}
	}
	shell := map[Dialect]string{ORTE: "OMPI_MCA_plm_rsh_", PRRTE: "PRTE_MCA_plm_ssh_"}[dialect]
	if shell == "" {
		return nil
	}
	var variables []Variable
	if dialect == ORTE {
		variables = append(variables, Variable{
			"OMPI_MCA_orte_leave_session_attached", "true",
			"ORTE's flat launch turns daemons loose, and then nobody watches their nodes: a frozen pod or a cut network would never be noticed",
		}, Variable{
			"OMPI_MCA_if_base_do_not_resolve", "true",
			"ORTE asks DNS whether a host of the hostfile is the launcher itself, and without DNS that takes 15 s per host",
		})
	}
	if dialect == ORTE && launcherIsHost {
		variables = append(variables, Variable{
			KeepFQDNVariable, "false",
			"ORTE knows its own host by the name that the kernel has; by the longer one only once DNS has the address of this very pod",
		})
	}
	if nodes > MaxFlatNodes {
		return append(variables, Variable{
			shell + "no_tree_spawn", "false",
			"above " + strconv.Itoa(MaxFlatNodes) + " nodes one launcher is too slow: daemons start daemons, through their own agents",
		})
	}
	return append(variables,
		Variable{shell + "no_tree_spawn", "true", "tree spawn hangs for some host counts (open-mpi/ompi#7087, #8282)"},
		Variable{shell + "num_concurrent", strconv.Itoa(MaxFlatNodes), "remote shells stay attached: mpirun needs a place for each of them; with fewer places than nodes that of Open MPI 4.1.4 dies of SIGSEGV"})
}
