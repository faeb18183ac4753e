// Command measure runs one command and prints what the kernel counted of it. It is small so that its own memory does not show
// in that of the command.
package main

import (
	"fmt"
	"os"

	"lockstep.dev/lockstep/test/bench/meter"
)

func main() {
	if err := meter.Main(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}
