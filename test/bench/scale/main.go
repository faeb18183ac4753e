// Command scale measures the controller with many jobs: 1,000 TrainJobs of 8 nodes each. The nodes of the cluster that
// take their pods are simulated by KWOK, so no container runs and no rank; the API server, JobSet's controller, the Job
// controller, the scheduler and the TrainJob controller are real. The same is done with Kubeflow Trainer's own manager.
//
// A launcher ends well some seconds after it started. Nobody answers at the addresses of simulated pods: our controller
// tries to hand each launcher its table of addresses, in vain, which costs it requests that real jobs do not. On both sides
// kube-router, the policy engine of the machines, is stopped meanwhile: it would write rules for pods that have no network.
package main

import (
	"context"
	"flag"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
)

func main() {
	jobs := flag.Int("jobs", 1000, "`number` of TrainJobs")
	only := flag.Bool("ours", false, "leave stock Trainer out")
	bench.Main(func(ctx context.Context, p *platform.Platform) (Report, error) { return measure(ctx, p, *jobs, !*only) })
}
