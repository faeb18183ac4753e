// Command demo shows the main job of Lockstep on real components: specs in git become a platform on a real cluster, and
// a tenant's editor runs real MPI across its machines with every implementation in the catalog.
//
// It exits with 1 if any rank, node or sum is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := parseOptions(os.Args[1:])
	if err != nil {
		return err
	}
	return demo(ctx, options, os.Stdout)
}
