package main

import (
	"fmt"
	"os"

	"lockstep.dev/lockstep/pkg/mpi/agent/install"
)

const installHelp = `install copies the agent into a folder as mpi-agent, with the links rsh and ssh, for pods that cannot mount its image.

Usage: mpi-agent install DIR

Example:
  mpi-agent install /opt/lockstep/bin
`

func runInstall(args []string) int {
	switch {
	case firstOrEmpty(args) == "-h", firstOrEmpty(args) == "--help":
		fmt.Print(installHelp)
		return 0
	case len(args) != 1 || args[0] == "":
		fmt.Fprint(os.Stderr, "mpi-agent install: exactly one folder is needed\n\n", installHelp)
		return codeUsage
	}
	if err := installSelf(args[0]); err != nil {
		return failWith(err)
	}
	return 0
}

// installSelf copies this program into a folder.
func installSelf(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the agent's own file: %w", err)
	}
	return install.Install(self, dir)
}
