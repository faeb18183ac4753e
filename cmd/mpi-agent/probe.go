package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/term"

	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/probe"
)

const probeHelp = `probe measures the network between the ranks of an MPI job: it is started as if it were the program, needs no MPI library,
and lets every pair of ranks measure the round trip and the bandwidth of TCP. Rank 0 prints the result: a table on a
terminal, otherwise JSON in one line (schema: docs/probe.md).

Exit code: 0 when all ranks reported, all pairs were measured and the limits hold; 1 otherwise; 2 wrong usage.

Usage: mpirun mpi-agent probe [flags]

Examples:
  mpirun mpi-agent probe
  mpirun mpi-agent probe -o json --ranks 16 --max-round-trip 200us --min-bandwidth 9000`

// probeOptions are the flags of probe.
type probeOptions struct {
	agentOptions
	output   string
	duration time.Duration
	timeout  time.Duration
	limits   probe.Limits
}

func runProbe(args []string) int {
	common, err := defaultOptions()
	if err != nil {
		return failWith(err)
	}
	o := probeOptions{agentOptions: common}
	flags := newFlagSet("probe", probeHelp, &o.agentOptions)
	flags.StringVar(&o.output, "o", "auto", "`format` of the result: table, json, or auto: a table on a terminal, otherwise JSON")
	flags.DurationVar(&o.duration, "for", 10*time.Second, "`time` that the measurements should take together")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "`time` after which the probe ends in any case")
	flags.IntVar(&o.limits.Ranks, "ranks", 0, "fail unless exactly this `number` of ranks runs")
	flags.DurationVar(&o.limits.RoundTrip, "max-round-trip", 0, "fail when the median round trip of a pair on different hosts takes longer than this `time`")
	flags.Float64Var(&o.limits.Bandwidth, "min-bandwidth", 0, "fail when a pair on different hosts has less bandwidth than this, in `Mbit/s`")
	if code, done := parseFlags(flags, args); done {
		return code
	}
	if why := o.whyInvalid(flags.Args()); why != "" {
		fmt.Fprintf(os.Stderr, "mpi-agent probe: %s\n", why)
		return codeUsage
	}
	report, err := o.measure()
	if err != nil {
		return failWith(fmt.Errorf("probe: %w", err))
	}
	if report == nil { // rank 0 says it
		return 0
	}
	if err := o.printReport(*report); err != nil {
		return failWith(fmt.Errorf("print the result: %w", err))
	}
	if !report.OK {
		return codeFailed
	}
	return 0
}

func (o probeOptions) whyInvalid(rest []string) string {
	switch {
	case len(rest) > 0:
		return fmt.Sprintf("it takes no arguments, found `%s`", rest[0])
	case o.output != "auto" && o.output != "table" && o.output != "json":
		return fmt.Sprintf("format `%s`: allowed are auto, table and json", o.output)
	case o.duration <= 0 || o.timeout <= 0:
		return "--for and --timeout must be longer than 0"
	}
	return ""
}

func (o probeOptions) measure() (*probe.Report, error) {
	rank, size, session, err := probe.WorldOf(os.Environ())
	if err != nil {
		return nil, err
	}
	key, err := identity.LoadKey(o.settings.KeyDir)
	if err != nil {
		return nil, err
	}
	meet, address, err := probe.FindRendezvous(o.settings, key, (&net.Dialer{}).DialContext)
	if err != nil {
		return nil, err
	}
	if o.listen != "" {
		address = o.listen
	}
	return probe.Participant{
		Rank: rank, Size: size, Session: session, Host: o.hostname, Address: address,
		Duration: o.duration, Deadline: time.Now().Add(o.timeout), Limits: o.limits, Exchange: meet,
	}.Run(context.Background())
}

func (o probeOptions) printReport(report probe.Report) error {
	if o.output == "table" || o.output == "auto" && term.IsTerminal(int(os.Stdout.Fd())) {
		return report.WriteTable(os.Stdout)
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}
