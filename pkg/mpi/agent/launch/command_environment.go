package launch

import (
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// ofThePod are variables that differ between the pods of a job.
var ofThePod = []string{"HOSTNAME", "JOB_COMPLETION_INDEX"}

// commandEnvironment returns the environment of the user's command: that of the launcher's container, the settings for rsh,
// how MPI shall launch so many nodes and ranks, and a PATH on which `ssh` is ours.
//
// Hydra gives its own environment to all ranks, over what they would have from the container of their node (MPICH 4.0;
// ORTE and PRRTE do not). Under Hydra, therefore, the variables that differ between pods are left out: the ranks on the
// nodes have the values of their own pods. PATH is not: without it mpirun would not be found. So ranks under Hydra have the
// agent first too.
func commandEnvironment(container []string, s state.Settings, nodes int, slots int32, launcherIsHost bool) []string {
	environment := process.OverrideVariables(container, s.Environment())
	environment = process.OverrideVariables(environment, launchEnvironment(container, nodes, slots, launcherIsHost))
	environment = withAgentFirst(environment)
	if !usesHydra(container) {
		return environment
	}
	return slices.DeleteFunc(environment, func(variable string) bool {
		return slices.Contains(ofThePod, process.VariableName(variable))
	})
}

// commandArgv returns the words of the user's command. Kubeflow's SDK begins each with `mpirun --hostfile /etc/mpi/hostfile`, and Hydra
// refuses the syntax of that file, which is Open MPI's: it gets the one in its own. Other launchers, such as horovodrun, read Open MPI's.
func (l Launcher) commandArgv(command Command) []string {
	if !usesHydra(command.Environment) || !strings.HasPrefix(path.Base(command.Argv[0]), "mpi") {
		return command.Argv
	}
	words := slices.Clone(command.Argv)
	for i, word := range words {
		if word == mpi.HostfilePath {
			words[i] = l.Settings.HydraHostfilePath()
		}
	}
	return words
}

// launchEnvironment returns the variables of mpi.LaunchEnvironment that the user has not set. The runtime sets a flat
// launch for all, because it does not know the number of nodes, and a user may not set how names are kept; so those two are not the user's.
func launchEnvironment(container []string, nodes int, slots int32, launcherIsHost bool) []string {
	dialect := mpi.Dialect("")
	values := map[string]string{}
	for _, variable := range container {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
		switch name {
		case "OMPI_MCA_plm_rsh_agent":
			dialect = mpi.ORTE
		case "PRTE_MCA_plm_ssh_agent":
			dialect = mpi.PRRTE
		case "I_MPI_HYDRA_BOOTSTRAP_EXEC":
			dialect = mpi.IntelHydra
		}
	}
	var variables []string
	for _, v := range mpi.LaunchEnvironment(dialect, nodes, slots, launcherIsHost) {
		value, set := values[v.Name]
		if !set || v.Name == mpi.KeepFQDNVariable || strings.HasSuffix(v.Name, "no_tree_spawn") && value == "true" {
			variables = append(variables, v.Name+"="+v.Value)
		}
	}
	return variables
}

// withAgentFirst returns the environment of a launcher: horovodrun and pdsh call `ssh` by its name, and one that the image has
// does not know the nodes. It is still there for other hosts (rsh.FindOtherSSH).
func withAgentFirst(environment []string) []string {
	return process.OverrideVariables(environment, []string{"PATH=" + path.Dir(mpi.AgentBin) + ":" + process.SearchPath(environment)})
}

// usesHydra reports whether the environment is that of Hydra's dialects: it names rsh as Hydra's remote shell.
func usesHydra(environment []string) bool {
	return slices.ContainsFunc(environment, func(variable string) bool {
		name := process.VariableName(variable)
		return name == "HYDRA_LAUNCHER_EXEC" || name == "I_MPI_HYDRA_BOOTSTRAP_EXEC"
	})
}
