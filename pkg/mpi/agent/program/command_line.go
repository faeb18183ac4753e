package program

import (
	"strings"
	"syscall"
)

// CodeToldToEnd is the exit code of a command that ended by SIGTERM.
const CodeToldToEnd = 128 + int(syscall.SIGTERM)

// mpiDaemons belong to MPI launchers: they start the ranks of a node and outlive them. One that ends by a signal was killed.
var mpiDaemons = []string{"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy", "pmi_proxy"}

// rankMark is in the command of horovodrun, which starts every rank by an ssh of its own.
const rankMark = "HOROVOD_RANK"

// otherStarters belong to launchers that use ssh without MPI. They pass on how their ranks end, or are one.
var otherStarters = []string{
	rankMark, "horovod.runner", "deepspeed.launcher", "torch.distributed.run", "torch.distributed.launch", "torchrun",
	"accelerate launch", "accelerate-launch", "accelerate.commands.launch",
}

// StartsRanks reports whether a command line starts ranks. A command that merely looks around on a node, such as
// `nvidia-smi`, does not: the check that no node was left out must not be satisfied by it.
func StartsRanks(line string) bool {
	return containsName(line, mpiDaemons) || containsName(line, otherStarters)
}

// IsRank reports whether a command line is a rank, and not a daemon that starts those of its node.
func IsRank(line string) bool { return containsName(line, []string{rankMark}) }

// IsKilledDaemon reports whether a command that ended with a code is a launch daemon that did not end by itself: one of MPI that
// died of a signal, or any that was told to end with its pod. The code of another one is that of its ranks.
func IsKilledDaemon(line string, code int) bool {
	return code > 128 && containsName(line, mpiDaemons) || code == CodeToldToEnd && StartsRanks(line)
}

// IsDiedDaemon reports whether a command that ended by itself with a code is a launch daemon that may have died under its launch: prted
// ends with 0 however its ranks end (PRRTE 3.0.8, tried), so that another code is its own. Whether its launch still ran then, the
// launcher knows (daemonDied). Those of orted and of Hydra's proxies may be those of ranks.
func IsDiedDaemon(line string, code int) bool {
	return IsKilledDaemon(line, code) || code != 0 && containsName(line, []string{"prted"})
}

// StartsHydraProxy reports whether a command line starts the proxy of MPICH or Intel MPI.
func StartsHydraProxy(line string) bool {
	return containsName(line, []string{"hydra_pmi_proxy", "hydra_bstrap_proxy", "pmi_proxy"})
}

// containsName looks for names between characters that separate words, paths and assignments. A name with a dot is a Python
// package and stands for its modules too, one with a space is a program and its subcommand.
func containsName(line string, names []string) bool {
	words := strings.FieldsFunc(line, separatesNames)
	for i, word := range words {
		pair := strings.Join(words[i:min(i+2, len(words))], " ")
		for _, name := range names {
			if name == word || name == pair || strings.Contains(name, ".") && strings.HasPrefix(word, name+".") {
				return true
			}
		}
	}
	return false
}

func separatesNames(c rune) bool { return strings.ContainsRune(" \t\n/\"'`;&|()={}", c) }
