// Command scaling measures how far ranks that learn together get on 1, 2, 4 and 8 nodes, in two ways.
//
// Without arguments it brings Lockstep up on two machines, and runs steps of work and an Allreduce of 64 KiB (mpi-steps) in jobs of 1, 2, 4 and 8
// pods of one rank each: ours, and then OpenSSH under stock Kubeflow Trainer with the same Open MPI 4. Strong scaling divides the same work among
// the ranks, weak scaling gives each rank the same. The HPC Challenge follows. It also tells how much of a processor process 1 of a pod takes
// meanwhile, which is the agent, or sshd: what a stack costs while ranks run.
//
// With a runtime and a command it runs that command as TrainJobs on the cluster of KUBECONFIG, and takes a rate from what they print:
//
//	bench-scaling -runtime sharded-large -namespace NAMESPACE -queue lockstep -pods 2,8,16 -slots 8 -rate 'images/s: ([0-9.]+)' -- mpirun python train.py
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/bench/sides"
	"lockstep.dev/lockstep/test/platform"
)

func main() {
	sizes := sides.Pods{1, 2, 4, 8}
	var own ownProgram
	runs := flag.Int("runs", 5, "`number` of times that each size is run")
	flag.Var(&sizes, "pods", "`numbers` of nodes, separated by commas")
	flag.StringVar(&own.runtime, "runtime", "", "run the command behind -- with this `runtime` on the cluster of KUBECONFIG")
	flag.StringVar(&own.namespace, "namespace", "default", "`namespace` of these jobs")
	flag.StringVar(&own.queue, "queue", "", "`name` of the LocalQueue of these jobs, where the tenant queues; in our bundles it is lockstep")
	flag.IntVar(&own.slots, "slots", 1, "`ranks` per node")
	flag.StringVar(&own.rate, "rate", "", "`expression` of what the command prints, whose first group is a rate: images or tokens per second; the last match counts")
	if flag.Parse(); own.runtime == "" {
		bench.Main(func(ctx context.Context, p *platform.Platform) (Report, error) { return measure(ctx, p, sizes, *runs) })
		return
	}
	own.command = flag.Args()
	if err := own.run(sizes, *runs); err != nil {
		fmt.Fprintf(os.Stderr, "bench-scaling: %v\n", err)
		os.Exit(1)
	}
}
