// Command compile measures runtime-compiler and, in the same run, other tools that make the same objects of the same specs: Helm,
// Jsonnet and kustomize.
//
// Everything is measured from outside, whole process, start-up included: the kernel's own accounting of a finished child. Before
// anything is measured the objects of a sample of tenants are compared between all tools; a difference ends the program. The
// series take turns, run by run, so that a machine that is slow for a while is slow for all of them.
//
// It judges nothing else. The numbers, and the table beside the targets, belong into docs/benchmarks.md.
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

	"lockstep.dev/lockstep/test/bench/workload"
	"lockstep.dev/lockstep/test/trial"
)

// options are the command line.
type options struct {
	workload.Options
	runs, sample          int
	growth                []int
	compiler, dir, module string
	out, table            string
	alone                 bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-compile:", err)
		os.Exit(1) //nolint:gocritic // run has cleaned up
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench-compile", flag.ContinueOnError)
	flags.IntVar(&o.Tenants, "tenants", 1000, "`number` of tenants")
	flags.IntVar(&o.Clusters, "clusters", 3, "`number` of clusters")
	flags.Uint64Var(&o.Seed, "seed", 1, "`number` that selects the workload")
	flags.IntVar(&o.runs, "runs", 5, "`number` of runs of each series")
	flags.IntVar(&o.sample, "sample", 20, "`number` of tenants that are compared between the tools, and that kustomize builds")
	growth := flags.String("growth", "10,100,1000,10000", "`numbers` of tenants between which growth is measured; empty for none")
	flags.StringVar(&o.compiler, "compiler", "build/bin/runtime-compiler", "`program` to measure")
	flags.StringVar(&o.module, "peers", "test/bench/compile/peers", "`folder` of the Go module that pins the other tools")
	flags.BoolVar(&o.alone, "alone", false, "measure runtime-compiler only")
	flags.StringVar(&o.dir, "dir", "", "`folder` for specs and output; missing means memory (/dev/shm) where there is some, or TMPDIR")
	flags.StringVar(&o.out, "out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	flags.StringVar(&o.table, "table", "", "print the Markdown table of an earlier `file` and measure nothing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for number := range strings.SplitSeq(*growth, ",") {
		if number == "" {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return o, fmt.Errorf("--growth: `%s` is no number of tenants: write numbers with commas, such as 10,100,1000", number)
		}
		o.growth = append(o.growth, n)
	}
	if o.runs < 1 || o.sample < 1 {
		return o, errors.New("--runs and --sample must be at least 1")
	}
	return o, o.Valid()
}

func run(ctx context.Context) (err error) {
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	if o.table != "" {
		report, err := readReport(o.table)
		if err != nil {
			return err
		}
		return report.writeTable(os.Stdout)
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	report, err := b.run(ctx)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := trial.WriteJSON(o.out, report); err != nil {
			return err
		}
	}
	return report.writeTable(os.Stdout)
}
