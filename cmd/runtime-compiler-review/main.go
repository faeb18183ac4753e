// Command runtime-compiler-review has the commands diff, comment, publish and drift of runtime-compiler, which replaces itself by it for
// them. People type `runtime-compiler diff`.
//
// It is wiring: package reviewer has the commands.
package main

import (
	"os"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/reviewer"
)

func main() {
	cli.TuneHeap(60) // two states are compared, and both are in memory
	os.Exit(reviewer.Run(os.Args[1:], os.Stdout, os.Stderr))
}
