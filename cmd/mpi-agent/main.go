// Command mpi-agent is the agent inside the pods of an MPI job. See pkg/mpi/agent.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/pkg/mpi/agent/mpirun"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// subcommand is a subcommand: it gets the arguments behind its name and returns the exit code.
type subcommand func(args []string) int

func main() {
	if err := enterFIPS(); err != nil {
		os.Exit(failWith(err))
	}
	os.Exit(dispatch(os.Args, os.Stdout, os.Stderr))
}

// dispatch finds the subcommand: the program's own name where it stands for another, as rsh, ssh or mpirun, otherwise the first argument.
func dispatch(args []string, stdout, stderr io.Writer) int {
	switch name := filepath.Base(args[0]); {
	case name == "rsh":
		return runRemoteShell(args[1:])
	case name == "ssh":
		return runAsSSH(args)
	case mpirun.IsName(name):
		return runAsMPILauncher(args)
	}
	if len(args) < 2 {
		fmt.Fprint(stderr, help)
		return codeUsage
	}
	commands := map[string]subcommand{
		"serve": runServe, "run": runLauncher, "gate": runGate, "rsh": runRemoteShell, "install": runInstall,
		"probe": runProbe, "archive": runArchive,
		"version": printVersion, hydra.EndLauncherCommand: runEndParent,
	}
	switch name := args[1]; {
	case name == "-h" || name == "--help" || name == "help":
		fmt.Fprint(stdout, help)
		return 0
	case commands[name] == nil:
		fmt.Fprintf(stderr, "mpi-agent: unknown command `%s`\n\n%s", name, help)
		return codeUsage
	default:
		return commands[name](args[2:])
	}
}

const help = `mpi-agent starts and watches the processes of an MPI job inside its pods.
It replaces sshd and ssh; the image of the job needs neither.

Usage: mpi-agent COMMAND

  serve      main process of a node: runs what the launcher asks for
  run        main process of the launcher: waits for all nodes, runs a command, leaves a verdict
  gate       waits for all nodes and ends (for an init container)
  rsh        runs a command on a node, as ssh would; what mpirun calls (also as links named rsh or ssh)
  probe      measures the network between all ranks, under mpirun
  archive    prints files as text, for kubectl mpi cp
  install    copies the agent into a folder that other containers mount
  version    prints the version

Examples:
  mpi-agent install /opt/lockstep/bin
  mpi-agent serve
  mpi-agent run -- mpirun -n 8 python train.py
  mpi-agent rsh demo-node-0-1 hostname
  mpirun mpi-agent probe

Environment: LOCKSTEP_FIPS=true runs the agent in Go's FIPS 140-3 mode; all pods of a job need it.

See mpi-agent COMMAND --help for the options of a command.
`
