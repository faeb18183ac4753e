// Command soak runs many real jobs, a number of them at the same time, and looks at what stays in the controller and in
// the cluster: goroutines, memory, watches, objects.
//
// The controller is measured when it has nothing to do: after a first round of jobs, which fills caches and pools, and
// after the last. Between the two nothing may grow but by the tolerance below; no object of a job may outlive it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

const machines = 2

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	jobs := flag.Int("jobs", 500, "`number` of jobs after the first round")
	concurrent := flag.Int("concurrent", 50, "`number` of jobs at the same time")
	out := flag.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tools, err := platform.DefaultTools(os.Stderr)
	if err != nil {
		return err
	}
	p, err := platform.Up(ctx, tools, machines, platform.NewProgress(os.Stdout))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(context.Background())) }()
	report, err := soak(ctx, p, *jobs, *concurrent)
	if err != nil {
		return err
	}
	report.print(os.Stdout)
	if *out != "" {
		err = trial.WriteJSON(*out, report)
	}
	return errors.Join(err, report.verdict())
}
