// Command images makes the container images that Lockstep's tests run: `go run . build`. See --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"lockstep.dev/lockstep/test/images/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
