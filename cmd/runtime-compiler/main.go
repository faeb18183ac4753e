// Command runtime-compiler compiles the specs of a repository (catalog/, tenants/, overlays/) into manifests per cluster.
//
// It is wiring: package compile does the work. Exit code 0 means fine, 1 that something was wrong with the specs or the
// output, 2 that the command line was, 3 that there are warnings and --fail-on asks to fail on them.
package main

import (
	"os"

	"lockstep.dev/lockstep/internal/cli"
)

func main() {
	cli.TuneHeap(60) // a tenth less memory than with Go's 100, for some percent more of the processor
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
