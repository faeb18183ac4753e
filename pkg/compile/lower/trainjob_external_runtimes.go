package lower

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// A tenant may use runtimes that others installed (docs/decisions/2026-11-23-runtimes-of-others.md). Of these only the name is known, so
// that there are no bounds of nodes, ranks and machines: ResourceQuota, or Kueue, counts what their pods ask for. What a TrainJob asks for
// must therefore be something that is counted. All other rules are about the TrainJob and not its runtime, and hold as they are.

var machineResourcesRule = origin.Rule("admission policy", "what machines of the cluster's profiles offer; nothing else is in quotas and queues")

// externalVariables report whether the TrainJob is of such a runtime. A name that is compiled never is one, whatever the annotation says.
func externalVariables(c *plan.Cluster) []object.Node {
	variables := []object.Node{
		celVariable("others", `variables.annotations[?'`+externalAnnotation+`'].orValue('').split(',').filter(n, n != '' && !(n in variables.runtimes))`),
		celVariable("external", `variables.kind == 'ClusterTrainingRuntime' && variables.name in variables.others`),
		celVariableFrom("machineResources", "["+celStrings(machineResources(c))+"]", machineResourcesRule),
		celVariable("unknownResources", `!variables.external ? [] : (variables.limits.map(r, string(r)) + variables.requests.map(r, string(r))).filter(r, !(r in variables.machineResources))`),
	}
	if c.Queueing == nil {
		return variables
	}
	const limit, request = `string(variables.limits[?'memory'].orValue(''))`, `string(variables.requests[?'memory'].orValue(''))`
	said := `variables.external && ('memory' in variables.limits || 'memory' in variables.requests)`
	if !c.Bundled.V { // Trainer leaves the limit of our runtimes too where a TrainJob only requests less
		said = `(variables.external && 'memory' in variables.limits || 'memory' in variables.requests)`
	}
	return append(variables, celVariable("memoryNotGuaranteed", said+` && variables.queue != ''
  && !(isQuantity(`+limit+`) && isQuantity(`+request+`) && quantity(`+limit+`).compareTo(quantity(`+request+`)) == 0)`))
}

// machineResources are the names of all that machines offer, sorted. A device that no profile has is in no quota, and nobody would count
// it.
func machineResources(c *plan.Cluster) []string {
	profiles := c.Profiles()
	for i := range c.Capacity {
		profiles = append(profiles, c.Capacity[i].Profile)
	}
	names := []string{"cpu", "memory"}
	for _, p := range profiles {
		for _, offer := range p.Allocatable() {
			names = append(names, offer.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func unknownResourcesValidation() object.Node {
	return celValidation("!variables.changed || variables.unknownResources.size() == 0",
		"spec.trainer.resourcesPerNode asks for what no machine has",
		"spec.trainer.resourcesPerNode asks for {variables.unknownResources.join(', ')}, which no machine of the cluster's profiles has, so that no quota counts it; they have {variables.machineResources.join(', ')}: ask for these")
}

// memoryGuaranteedValidation asks that memory is requested as it is limited. Kueue counts requests; of a limit alone it counts what the runtime
// requests, which nobody knows here, of a request alone no more than that, while the runtime's limit holds, and pods would take the rest from
// others on their machines. CPU is shared by what is requested, and of devices the API server wants both to be equal.
func memoryGuaranteedValidation() object.Node {
	return celValidation("!variables.changed || !variables.memoryNotGuaranteed",
		"spec.trainer.resourcesPerNode limits memory that it does not request",
		"spec.trainer.resourcesPerNode limits memory to {variables.limits[?'memory'].orValue('none')} and requests {variables.requests[?'memory'].orValue('none')}; queue `{variables.queue}` counts requests, and more would be taken from others: request as much as the limit")
}
