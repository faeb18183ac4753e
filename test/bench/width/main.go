// Command width measures what it costs to launch on many nodes: jobs of 4, 16 and 64 worker pods with one rank each, all
// on one machine, so that processors are what is short. The agent of ours is measured against OpenSSH under stock
// Kubeflow Trainer, with the same Open MPI 4, on the same cluster in the same run.
//
// Three things are timed inside the launcher, several times each: as many commands as nodes through the remote shell alone,
// `mpirun hostname` from start to end, and `mpirun mpi-hello` from its start until all ranks have spoken, which they do
// after MPI_Init and one Allreduce.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

const machines = 2

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-width:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	runs := flag.Int("runs", 5, "`number` of times that each thing is done per job")
	widths := flag.String("pods", "4,16,64", "`numbers` of worker pods, separated by commas")
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
	sizes, err := numbers(*widths)
	if err != nil {
		return err
	}
	report, err := measure(ctx, p, sizes, *runs)
	if err != nil {
		return err
	}
	report.print(os.Stdout)
	if *out == "" {
		return nil
	}
	return trial.WriteJSON(*out, report)
}

func numbers(text string) ([]int32, error) {
	var all []int32
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-pods %q: want whole numbers from 1, separated by commas", text)
		}
		all = append(all, int32(n))
	}
	return all, nil
}
