// Command review measures what stands around a pull request, on a generated repository: `runtime-compiler diff` of one changed tenant, of one
// line that opens egress for all, of a change that everything is compiled for, and of none; and beside them, in the same run, what others do for a pull request: `helm template` of both
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
	"os"
	"time"

	"lockstep.dev/lockstep/test/bench/series"
)

// options are the command line.
type options struct {
	series.Options
	small int
	limit time.Duration
	peers string
}

func main() { series.Main(name, run) }

const name = "bench-review"

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	o.Register(flags)
	flags.IntVar(&o.small, "small", 100, "`number` of tenants of a second comparison with the other tools")
	flags.DurationVar(&o.limit, "limit", 10*time.Minute, "`time` after which dyff is stopped")
	flags.StringVar(&o.peers, "peers", "test/bench", "`folder` of the other measurements, whose modules pin the other tools")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.Runs < 1 || o.small < 1 {
		return o, errors.New("--runs and --small must be at least 1")
	}
	return o, o.Valid()
}

func run(ctx context.Context) error {
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	report := &Report{}
	return o.Run(report, func() error { return measure(ctx, o, report) })
}

func measure(ctx context.Context, o options, report *Report) (err error) {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return b.run(ctx, report)
}
