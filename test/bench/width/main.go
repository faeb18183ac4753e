// Command width measures what it costs to launch on many nodes: jobs of 4, 16 and 64 worker pods with one rank each, all
// on one machine, so that processors are what is short. The agent of ours is measured against OpenSSH under stock
// Kubeflow Trainer, with the same Open MPI 4, on the same cluster in the same run.
//
// Three things are timed inside the launcher, several times each: as many commands as nodes through the remote shell alone,
// `mpirun hostname` from start to end, and `mpirun mpi-hello` from its start until all ranks have spoken, which they do
// after MPI_Init and one Allreduce.
package main

import (
	"context"
	"flag"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/bench/sides"
	"lockstep.dev/lockstep/test/platform"
)

func main() {
	sizes := sides.Pods{4, 16, 64}
	runs := flag.Int("runs", 5, "`number` of times that each thing is done per job")
	flag.Var(&sizes, "pods", "`numbers` of worker pods, separated by commas")
	bench.Main(func(ctx context.Context, p *platform.Platform) (Report, error) { return measure(ctx, p, sizes, *runs) })
}
