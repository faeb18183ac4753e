// Command start measures how long a user waits for the first rank: the seconds from the creation of a TrainJob to the
// first line of a rank in the launcher's log, with fresh names and with a name that is created again at once.
//
// With --stock it measures Kubeflow Trainer's own controller with upstream's own MPI runtime and OpenSSH too, on the same
// cluster in the same run; the two controllers cannot run at the same time, so one series follows the other.
//
// It judges nothing but correctness: a run of ours with a missing rank or a restarted launcher ends it with exit code 1.
// The numbers belong into docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

const machines = 2

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-start:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "`number` of starts of each series")
	flag.BoolVar(&o.stock, "stock", false, "measure stock Trainer with OpenSSH too")
	runtimes := flag.String("runtimes", "openmpi4-cpu,openmpi5-cpu,mpich-cpu", "`names` of the runtimes of ours, separated by commas; the first is compared with stock")
	out := flag.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT), and the phases as a drawing beside it")
	flag.Parse()
	o.runtimes = strings.Split(*runtimes, ",")
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
	report, err := measure(ctx, p, o)
	if err != nil {
		return err
	}
	printTable(os.Stdout, report)
	if *out == "" {
		return nil
	}
	if err := os.WriteFile(strings.TrimSuffix(*out, ".json")+".svg", []byte(drawing(report)), 0o644); err != nil {
		return err
	}
	return trial.WriteJSON(*out, report)
}
