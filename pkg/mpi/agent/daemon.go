package agent

import "strings"

// daemons are programs that start ranks on a node. The first group belongs to MPI launchers, the second to launchers
// that use ssh without MPI.
var daemons = []string{
	"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy", "pmi_proxy",
	"horovod.runner", "HOROVOD_RANK", "deepspeed.launcher", "torch.distributed.run", "torchrun",
}

// startsRanks says whether a command line starts ranks. A command that merely looks around on a node, such as
// `nvidia-smi`, does not: the check that no node was left out must not be satisfied by it.
func startsRanks(line string) bool {
	return namesAny(line, daemons)
}

// isHydraProxy says whether a command line starts the proxy of MPICH or Intel MPI.
func isHydraProxy(line string) bool {
	return namesAny(line, []string{"hydra_pmi_proxy", "hydra_bstrap_proxy", "pmi_proxy"})
}

// namesAny looks for names between characters that separate words, paths and assignments. A name with a dot is a Python
// package and stands for its modules too.
func namesAny(line string, names []string) bool {
	for _, word := range strings.FieldsFunc(line, separates) {
		for _, name := range names {
			if word == name || strings.Contains(name, ".") && strings.HasPrefix(word, name+".") {
				return true
			}
		}
	}
	return false
}

func separates(c rune) bool { return strings.ContainsRune(" \t\n/\"'`;&|()={}", c) }
