// Command cluster runs a real Kubernetes cluster on one bare Linux machine.
package main

import (
	"os"

	"lockstep.dev/lockstep/test/cluster/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
