// Command fairness measures how long a job of one tenant waits for its JobSet while another tenant has just created 1,000 jobs. API server and
// etcd are real, and so is our controller, which runs in this process under the account of its chart. There is no JobSet controller, so no pod
// is made: what is measured is how the controller shares itself out. It needs KUBEBUILDER_ASSETS, the folder with both programs.
//
// Jobs of the calm tenant are created one after the other, first without any noise, then from the first to the last JobSet of the noisy one. A
// delay is from the moment before its TrainJob is created until a watch tells of its JobSet.
package main

import (
	"context"
	"errors"
	"flag"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/testjob"
)

const name = "bench-fairness"

func main() { series.Main(name, run) }

func run(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard())
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	jobs := flags.Int("jobs", 1000, "`number` of TrainJobs of the noisy tenant")
	out := flags.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	report, err := measure(ctx, *jobs)
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	if *out != "" {
		err = testjob.WriteJSON(*out, report)
	}
	return errors.Join(err, report.Verdict())
}
