package main

import (
	"fmt"
	"os"

	"lockstep.dev/lockstep/pkg/mpi/agent/archive"
)

const archiveHelp = `archive prints a file or a folder as lines of base64, which kubectl mpi cp reads from the log.

Usage: mpi-agent archive PATH

Example:
  mpi-agent archive /results/model.pt
`

func runArchive(args []string) int {
	switch {
	case firstOrEmpty(args) == "-h", firstOrEmpty(args) == "--help":
		fmt.Print(archiveHelp)
		return 0
	case len(args) != 1 || args[0] == "":
		fmt.Fprint(os.Stderr, "mpi-agent archive: exactly one path is needed\n\n", archiveHelp)
		return codeUsage
	}
	if err := archive.Print(os.Stdout, args[0]); err != nil {
		return failWith(err)
	}
	return 0
}
