package check

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// threadsHaveCores warns of ranks that start more threads together than their machine has cores. Where the ranks alone are too many,
// slotsHaveCores says so.
func threadsHaveCores(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		set := lastVariable(r, "OMP_NUM_THREADS")
		if set == nil {
			continue
		}
		cores, ranks := r.Profile.CPU.V.Value(), max(int64(r.Slots.V), 1)
		first, _, _ := strings.Cut(set.Value.V, ",") // the others are for threads of threads
		threads, err := strconv.ParseInt(first, 10, 32)
		if err != nil || threads < 2 || ranks > cores || ranks*threads <= cores {
			continue
		}
		list.Warnf(diag.SlotsAboveCores, set.Value.At, "a node runs %d threads (ranks × `OMP_NUM_THREADS`, %d × %d), and a machine of `%s` has %d cores", ranks*threads, ranks, threads, r.Profile.Name, cores).
			Also(r.Slots.At, "the ranks").Also(r.Profile.CPU.At, "the cores").Helpf("set it to %d or less, or lower `slotsPerNode`", max(cores/ranks, 1))
	}
}

// lastVariable returns the variable of a name that counts, the last one, or nil.
func lastVariable(r *plan.Runtime, name string) *plan.Variable {
	for _, env := range [][]plan.Variable{r.Env, r.Profile.Env} {
		for i := len(env) - 1; i >= 0; i-- {
			if env[i].Name.V == name {
				return &env[i]
			}
		}
	}
	return nil
}

// slotsHaveCores warns of more ranks on a node than its machine has cores.
func slotsHaveCores(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		// One rank for each accelerator is as many as there are.
		if cores := r.Profile.CPU.V.Value(); int64(r.Slots.V) > cores && r.Slots.V != r.Profile.Accelerators.V {
			list.Warnf(diag.SlotsAboveCores, r.Slots.At, "a node runs %d ranks, and a machine of `%s` has %d cores", r.Slots.V, r.Profile.Name, cores).
				Also(r.Profile.CPU.At, "the cores").Helpf("set `slotsPerNode` to %d or less", cores)
		}
	}
}
