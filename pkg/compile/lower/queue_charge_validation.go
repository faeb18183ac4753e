package lower

import (
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// Kueue asks Kubeflow Trainer's plugins what a TrainJob takes, and these give resourcesPerNode to the launcher and not to the nodes
// (kubeflow/trainer pkg/runtime/core); our controller gives them to the nodes. Where the launcher is a node, Trainer does too, but a limit
// alone leaves the runtime's request, which is what Kueue counts, and for us it is the request as well. So a queue counts a node as its
// runtime has it, and what a TrainJob asks for above that it would take from others.

// queueChargePrefix is before the names of resources among the bounds of a runtime.
const queueChargePrefix = "share/"

// queueChargeEntries are more entries of a map of CEL: what a queue counts for a node of the runtime.
func queueChargeEntries(r *plan.Runtime) string {
	var entries strings.Builder
	resources := r.NodeResources()
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		amount := resources[name]
		entries.WriteString(", " + celString(queueChargePrefix+string(name)) + ": " + celString(amount.String()))
	}
	return entries.String()
}

// celAmountsAboveCharge are the amounts of a list of resources that are more than the queue counts for a node.
func celAmountsAboveCharge(list string) string {
	const asked, has = `string(a[r])`, `variables.runtime[?'` + queueChargePrefix + `' + r]`
	return `[variables.` + list + `].map(a, a.filter(r, isQuantity(` + asked + `) && quantity(` + asked + `).isGreaterThan(quantity(` + has + `.orValue('0')))).map(r,
  ` + asked + ` + ' ' + r + ', a node of the runtime has ' + ` + has + `.orValue('none')))[0]`
}

func queueChargeValidation() object.Node {
	return celValidation("!variables.changed || variables.aboveShare.size() == 0",
		"spec.trainer.resourcesPerNode asks for more than the queue counts",
		"spec.trainer.resourcesPerNode asks for {variables.aboveShare.size() > 0 ? variables.aboveShare.min() : ''}; queue `{variables.queue}` counts a node as runtime `{variables.name}` has it, "+
			"and more would be taken from others: ask for at most that, or name a runtime with larger nodes")
}
