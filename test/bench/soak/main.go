// Command soak runs many real jobs, a number of them at the same time, and looks at what stays in the controller and in
// the cluster: goroutines, memory, watches, objects.
//
// The controller is measured when it has nothing to do: after a first round of jobs, which fills caches and pools, and
// after the last. Between the two nothing may grow but by the tolerance below; no object of a job may outlive it.
package main

import (
	"context"
	"flag"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
)

func main() {
	jobs := flag.Int("jobs", 500, "`number` of jobs after the first round")
	concurrent := flag.Int("concurrent", 50, "`number` of jobs at the same time")
	runtime := flag.String("runtime", "openmpi5-cpu", "`name` of their runtime")
	bench.Main(func(ctx context.Context, p *platform.Platform) (Report, error) {
		return soak(ctx, p, *runtime, *jobs, *concurrent)
	})
}
