// Command kubectl measures `kubectl mpi` as people wait for it: how long it takes to start, beside kubectl itself, to list 1,000 jobs, and to make
// one. API server and etcd are real; there are no controllers, so the states of the jobs are written by hand. It needs KUBEBUILDER_ASSETS, the
// folder with both programs and kubectl.
package main

import (
	"context"
	"errors"
	"flag"
	"os"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/testjob"
)

const name = "bench-kubectl"

func main() { series.Main(name, run) }

func run(ctx context.Context) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	jobs := flags.Int("jobs", 1000, "`number` of TrainJobs that are listed")
	runs := flags.Int("runs", 20, "`number` of runs of each command")
	program := flags.String("program", "build/bin/kubectl-mpi", "`program` to measure")
	out := flags.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	report, err := measure(ctx, *program, *jobs, *runs)
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	if *out != "" {
		err = testjob.WriteJSON(*out, report)
	}
	return errors.Join(err, report.Verdict())
}
