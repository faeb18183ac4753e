// Command review measures what stands around a pull request, on a generated repository: `runtime-compiler diff` of one changed tenant, of one
// line that opens egress for all, of a change that everything is compiled for, and of none; `publish` to a branch and to a registry, and
// back; `drift` against a real API server, if wanted; and beside them, in the same run, what others do for a pull request: `helm template` of both
// sides and `dyff between` the results.
//
// Everything is measured from outside, whole process, start-up included: the kernel's own accounting of a finished child. Each series has one
// run that does not count, and then they take turns. Before anything is measured, the report of the line that opens egress is read: it must be
// one critical entry, at that line, in 40 lines of text.
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
	"syscall"
	"time"

	"lockstep.dev/lockstep/test/bench/workload"
	"lockstep.dev/lockstep/test/trial"
)

// options are the command line.
type options struct {
	workload.Options
	runs, small           int
	limit                 time.Duration
	alone, drift          bool
	driftTenants          int
	compiler, dir, module string
	out, table            string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-review:", err)
		os.Exit(1) //nolint:gocritic // run has cleaned up
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench-review", flag.ContinueOnError)
	flags.IntVar(&o.Tenants, "tenants", 1000, "`number` of tenants")
	flags.IntVar(&o.Clusters, "clusters", 3, "`number` of clusters")
	flags.Uint64Var(&o.Seed, "seed", 1, "`number` that selects the workload")
	flags.IntVar(&o.runs, "runs", 5, "`number` of runs of each series")
	flags.IntVar(&o.small, "small", 100, "`number` of tenants of a second comparison with the other tools")
	flags.DurationVar(&o.limit, "limit", 10*time.Minute, "`time` after which dyff is stopped")
	flags.StringVar(&o.compiler, "compiler", "build/bin/runtime-compiler", "`program` to measure")
	flags.StringVar(&o.module, "peers", "test/bench", "`folder` of the other measurements, whose modules pin the other tools")
	flags.BoolVar(&o.alone, "alone", false, "measure runtime-compiler only")
	flags.BoolVar(&o.drift, "drift", false, "measure drift, too: needs KUBEBUILDER_ASSETS")
	flags.IntVar(&o.driftTenants, "drift-tenants", 0, "`number` of tenants that are brought to the API server for drift; 0 means all")
	flags.StringVar(&o.dir, "dir", "", "`folder` for specs and output; missing means memory (/dev/shm) where there is some, or TMPDIR")
	flags.StringVar(&o.out, "out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	flags.StringVar(&o.table, "table", "", "print the Markdown table of an earlier `file` and measure nothing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.driftTenants == 0 {
		o.driftTenants = o.Tenants
	}
	if o.runs < 1 || o.small < 1 || o.driftTenants < 1 {
		return o, errors.New("--runs, --small and --drift-tenants must be at least 1")
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
