package hydra

import (
	"net"
	"path/filepath"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// launchKey returns what tells launches of Hydra apart, of the command line of a proxy or its remote shell: the address at which
// mpiexec listens. It returns nothing for other commands, and for proxies of MPI_Comm_spawn.
func launchKey(line string) string {
	words := strings.Fields(line)
	if valueOfFlag(words, "--pgid") != "0" {
		return ""
	}
	key := valueOfFlag(words, "--control-port")
	if _, port, err := net.SplitHostPort(key); err != nil || !allDigits(port) {
		return ""
	}
	return key
}

func valueOfFlag(words []string, flag string) string {
	if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

func allDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func portOfKey(key string) string { return key[strings.LastIndex(key, ":")+1:] }

// NoteDepartedNode notes that a command has ended with 0 on a node, where it was a proxy of Hydra: nothing is wrong with that as far as the
// proxy knows.
func NoteDepartedNode(stateDir, command, host string) error {
	key := launchKey(command)
	if key == "" || !program.StartsHydraProxy(command) {
		return nil
	}
	return state.AppendLine(departedNodesPath(stateDir, portOfKey(key)), host)
}

// departedNodesPath is where the remote shells of a launch note the nodes that it has left, with `*` for all launches.
func departedNodesPath(stateDir, port string) string { return filepath.Join(stateDir, "left-"+port) }
