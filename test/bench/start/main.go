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
	"flag"
	"strings"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
)

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "`number` of starts of each series")
	flag.BoolVar(&o.stock, "stock", false, "measure stock Trainer with OpenSSH too")
	runtimes := flag.String("runtimes", "openmpi4-cpu,openmpi5-cpu,mpich-cpu", "`names` of the runtimes of ours, separated by commas; the first is compared with stock")
	bench.Main(func(ctx context.Context, p *platform.Platform) (Report, error) {
		o.runtimes = strings.Split(*runtimes, ",")
		return measure(ctx, p, o)
	})
}
