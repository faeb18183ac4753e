package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// nodesInOrder asks for min <= default <= max.
func nodesInOrder(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		nodeBoundsInOrder(r, list)
	}
}

func nodeBoundsInOrder(r *plan.Runtime, list *diag.List) {
	least, standard, most := r.MinNodes, r.DefaultNodes, r.MaxNodes
	switch {
	case least.V > most.V:
		list.Errorf(diag.NodesOutOfOrder, most.At, "the greatest number of nodes is %d, less than the least, %d", most.V, least.V).
			Helpf("set `max` to %d or more", least.V)
	case standard.V < least.V || standard.V > most.V:
		list.Errorf(diag.NodesOutOfOrder, standard.At, "the default number of nodes is %d, outside %d to %d", standard.V, least.V, most.V).
			Helpf("set `default` to a number from %d to %d", least.V, most.V)
	}
}
