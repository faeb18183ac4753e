package launch

import (
	"path"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// commandEnvironment returns the environment of the user's command: that of the launcher's container, the settings for rsh and
// for the shims of launchers, how MPI shall launch so many nodes and ranks, and a PATH on which those and `ssh` are ours.
func commandEnvironment(container []string, s state.Settings, nodes int, slots int32, launcherIsHost bool) []string {
	environment := process.OverrideVariables(container, s.Environment())
	environment = process.OverrideVariables(environment, launchEnvironment(container, nodes, slots, launcherIsHost))
	return withAgentFirst(environment, s)
}

// launchEnvironment returns the variables of mpi.LaunchEnvironment that the user has not set. The runtime sets a flat
// launch for all, because it does not know the number of nodes, and a user may not set how names are kept; so those two are not the user's.
func launchEnvironment(container []string, nodes int, slots int32, launcherIsHost bool) []string {
	values := map[string]string{}
	for _, variable := range container {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	var variables []string
	for _, v := range mpi.LaunchEnvironment(nodes, slots, launcherIsHost) {
		value, set := values[v.Name]
		if !set || v.Name == mpi.KeepFQDNVariable || strings.HasSuffix(v.Name, "no_tree_spawn") && value == "true" {
			variables = append(variables, v.Name+"="+v.Value)
		}
	}
	return variables
}

// withAgentFirst returns the environment of a launcher: horovodrun and pdsh call `ssh` by its name, and one that the image has
// does not know the nodes. It is still there for other hosts (rsh.FindOtherSSH).
func withAgentFirst(environment []string, s state.Settings) []string {
	folders := strings.Join([]string{s.ShimDir(), path.Dir(mpi.AgentBin), process.SearchPath(environment)}, ":")
	return process.OverrideVariables(environment, []string{"PATH=" + folders})
}
