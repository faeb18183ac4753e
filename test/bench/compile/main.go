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
	"strconv"
	"strings"

	"lockstep.dev/lockstep/test/bench/series"
)

// options are the command line.
type options struct {
	series.Options
	sample int
	growth []int
	peers  string
}

func main() { series.Main(name, run) }

const name = "bench-compile"

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	o.Register(flags)
	flags.IntVar(&o.sample, "sample", 20, "`number` of tenants that are compared between the tools, and that kustomize builds")
	growth := flags.String("growth", "10,100,1000,10000", "`numbers` of tenants between which growth is measured; empty for none")
	flags.StringVar(&o.peers, "peers", "test/bench/compile/peers", "`folder` of the Go module that pins the other tools")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for number := range strings.SplitSeq(*growth, ",") {
		if number == "" {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return o, fmt.Errorf("--growth: `%s` is not a number of tenants: write numbers with commas, such as 10,100,1000", number)
		}
		o.growth = append(o.growth, n)
	}
	if o.Runs < 1 || o.sample < 1 {
		return o, errors.New("--runs and --sample must be at least 1")
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
