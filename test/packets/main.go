// Command packets runs jobs of two tenants at the same time, each of which knocks at the pods of the other's, and listens to every interface of
// every pod on its machine: does a packet of one tenant reach a pod of the other? The judge knows nothing of policies: it sees what the machines
// hand to the pods. It needs root and the local cluster, whose machines are network namespaces of this one.
package main

import (
	"context"
	"flag"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
)

func main() {
	jobs := flag.Int("jobs", 100, "`number` of jobs of each tenant")
	bench.Main(func(ctx context.Context, p *platform.Platform) (Report, error) { return listen(ctx, p, *jobs) })
}
