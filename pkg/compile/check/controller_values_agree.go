package check

import (
	"reflect"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// controllerValuesAgree asks that values of our own chart say what the rest of the cluster says.
func controllerValuesAgree(c *plan.Cluster, list *diag.List) {
	for _, component := range c.Components {
		for _, given := range component.Injected {
			own := given.Alternative
			if own == nil || reflect.DeepEqual(own.V, given.V) {
				continue
			}
			list.Errorf(diag.ContradictsCluster, own.At, "the component `%s` has `%s: %s`, the cluster `%s` says `%s` (%s)",
				component.Release.V, given.Name, plan.FormatValue(own.V), c.Name.V, plan.FormatValue(given.V), given.Why).
				Also(given.At, "this says `%s`", plan.FormatValue(given.V)).
				Helpf("remove `%s`: the compiler gives the chart what the cluster says", given.Name)
		}
	}
}
