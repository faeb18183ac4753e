// Command scale measures the controller with many jobs: 1,000 TrainJobs of 8 nodes each. The nodes of the cluster that
// take their pods are simulated by KWOK, so no container runs and no rank; the API server, JobSet's controller, the Job
// controller, the scheduler and the TrainJob controller are real. The same is done with Kubeflow Trainer's own manager.
//
// A launcher ends well some seconds after it started. Nobody answers at the addresses of simulated pods: our controller
// tries to hand each launcher its table of addresses, in vain, which costs it requests that real jobs do not.
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
		fmt.Fprintln(os.Stderr, "bench-scale:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	jobs := flag.Int("jobs", 1000, "`number` of TrainJobs")
	only := flag.Bool("ours", false, "leave stock Trainer out")
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
	report, err := measure(ctx, p, *jobs, !*only)
	if err != nil {
		return err
	}
	report.print(os.Stdout)
	if *out == "" {
		return nil
	}
	return trial.WriteJSON(*out, report)
}
