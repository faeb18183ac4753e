package lower

import (
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

const trainJobPolicyName = "lockstep-trainjob"

// What the policy for TrainJobs reads from a tenant's namespace.
const (
	// runtimesAnnotation has the names of the catalog runtimes that the tenant may use, with commas between them.
	runtimesAnnotation = "lockstep.dev/runtimes"
	// externalAnnotation has those of the runtimes that others installed.
	externalAnnotation = "lockstep.dev/external-runtimes"
	// variantsAnnotation has an entry `<name>=<catalog runtime>:<min>:<max>:<default>` for each runtime of the tenant's own; the
	// numbers are nodes.
	variantsAnnotation = "lockstep.dev/variants"
	// acceleratorsAnnotation has an entry `<profile>=<number>`: the most accelerators of one job.
	acceleratorsAnnotation = "lockstep.dev/max-accelerators"
	// containerAnnotation has an entry `<resource>=<amount>` for each bound of the LimitRange.
	containerAnnotation = "lockstep.dev/max-container"
	// queueAnnotation is the LocalQueue of the namespace.
	queueAnnotation = "lockstep.dev/queue"
)

// Kueue's labels on jobs (sigs.k8s.io/kueue pkg/controller/constants).
const (
	queueLabel    = "kueue.x-k8s.io/queue-name"
	priorityLabel = "kueue.x-k8s.io/priority-class"
)

var (
	runtimeTableRule = origin.Rule("admission policy", "the bounds of all runtimes, by name")
	annotationRule   = origin.Rule("namespace", "what the admission policy for TrainJobs needs to know of the tenant; no tenant can write it")
)

// trainJobPolicy refuses TrainJobs that the specs do not allow. Bounds are looked at when a TrainJob comes, or gets a trainer that it
// did not have: a job that was admitted stays, whatever the bounds become. Status is not looked at.
func trainJobPolicy(c *plan.Cluster) admissionPolicy {
	return admissionPolicy{
		name:        trainJobPolicyName,
		rules:       []object.Node{requestKind("trainer.kubeflow.org", "v1alpha1", "trainjobs", "CREATE", "UPDATE")},
		variables:   slices.Concat(trainJobVariables(c), externalVariables(c), fieldVariables(), patchVariables(), environmentVariables(), metadataVariables(), placementVariables(c), volumeVariables()),
		validations: slices.Concat(boundValidations(c), fieldValidations(), patchValidations(), environmentValidations(), placementValidations(), metadataValidations(), volumeValidations()),
		namespaces:  tenantSelector("namespaceSelector"),
	}
}

func boundValidations(c *plan.Cluster) []object.Node {
	validations := []object.Node{runtimeValidation(), nodesValidation(), slotsValidation(), resourcesValidation(), containerValidation(), acceleratorsValidation(), unknownResourcesValidation()}
	if c.Queueing != nil {
		validations = append(validations, queueChargeValidation(), memoryGuaranteedValidation(), queueValidation(), priorityValidation(c))
	}
	return append(validations, tenantValidation())
}

// trainJobVariables are the question and what answers it: the TrainJob, the annotations of its namespace, the catalog. `runtime` and
// `profile` are empty for a runtime that the tenant may not use, and bounds then hold nothing back: the first validation refuses. They
// are empty for one of others too (trainjob_external_runtimes.go).
func trainJobVariables(c *plan.Cluster) []object.Node {
	variables := catalogVariables(c)
	for _, v := range []struct{ name, expression string }{
		{"annotations", `namespaceObject.metadata.?annotations.orValue({})`},
		{"tenant", `namespaceObject.metadata.?labels[?'` + mpi.TenantLabel + `'].orValue('')`},
		{"changed", `oldObject == null || dyn(object).?spec.?runtimeRef != dyn(oldObject).?spec.?runtimeRef || dyn(object).?spec.?trainer != dyn(oldObject).?spec.?trainer || dyn(object).?spec.?initializer != dyn(oldObject).?spec.?initializer`},
		{"kind", `dyn(object).?spec.?runtimeRef.?kind.orValue('ClusterTrainingRuntime')`},
		{"name", `dyn(object).?spec.?runtimeRef.?name.orValue('')`},
		{"allowed", `variables.annotations[?'` + runtimesAnnotation + `'].orValue('').split(',')`},
		{"variants", `variables.annotations[?'` + variantsAnnotation + `'].orValue('').split(',')`},
		{"variant", `variables.kind == 'TrainingRuntime' ? variables.variants.filter(v, v.startsWith(variables.name + '=')) : []`},
		{"base", `variables.kind == 'ClusterTrainingRuntime'
  ? (variables.name in variables.allowed ? variables.name : '')
  : variables.variant.size() > 0 ? variables.variant[0].split('=')[1].split(':')[0] : ''`},
		{"runtime", `variables.runtimes[?variables.base].orValue({})`},
		{"profile", `variables.profiles[?variables.runtime[?'profile'].orValue('')].orValue({})`},
		{"bounds", `(variables.variant.size() > 0
  ? variables.variant[0].split(':')
  : ['minNodes', 'maxNodes', 'nodes'].map(k, variables.runtime[?k].orValue(''))
).filter(n, n.matches('^[0-9]{1,9}$')).map(n, int(n))`},
		{"known", `variables.runtime.size() > 0 && variables.bounds.size() == 3`},
		{"least", `variables.known ? variables.bounds[0] : 0`},
		{"most", `variables.known ? variables.bounds[1] : 0`},
		{"nodes", `dyn(object).?spec.?trainer.?numNodes.orValue(variables.known ? variables.bounds[2] : 0)`},
		{"maxSlots", `int(variables.runtime[?'maxSlots'].orValue('0'))`},
		{"slots", `dyn(object).?spec.?trainer.?numProcPerNode.orValue(dyn(variables.maxSlots))`},
		{"limits", `dyn(object).?spec.?trainer.?resourcesPerNode.?limits.orValue({})`},
		{"requests", `dyn(object).?spec.?trainer.?resourcesPerNode.?requests.orValue({})`},
		{"excess", celExcessiveAmounts("limits") + "\n+ " + celExcessiveAmounts("requests")},
		{"overContainer", `variables.annotations[?'` + containerAnnotation + `'].orValue('').split(',').filter(m,
  ` + celExceedsBound("limits") + `
  || ` + celExceedsBound("requests") + `)`},
		{"accelerator", `variables.runtime[?'accelerator'].orValue('')`},
		{"offered", `quantity(variables.profile[?variables.accelerator].orValue('0'))`},
		{"asked", `string(variables.limits[?variables.accelerator].or(variables.requests[?variables.accelerator]).orValue(dyn('all')))`},
		// An amount that no machine has is another validation's business; it must not overflow here.
		{"perNode", `isQuantity(variables.asked) && quantity(variables.asked).isInteger() && sign(quantity(variables.asked)) >= 0 && !quantity(variables.asked).isGreaterThan(variables.offered)
  ? quantity(variables.asked).asInteger() : variables.offered.asInteger()`},
		{"total", `variables.nodes * variables.perNode`},
		{"granted", `variables.annotations[?'` + acceleratorsAnnotation + `'].orValue('').split(',')
  .filter(g, g.startsWith(variables.runtime[?'profile'].orValue('') + '=')).map(g, g.split('=')[1]).filter(g, g.matches('^[0-9]{1,9}$')).map(g, int(g))`},
		{"grant", `variables.granted.size() > 0 ? variables.granted[0] : -1`},
	} {
		variables = append(variables, celVariable(v.name, v.expression))
	}
	if c.Queueing == nil {
		return variables
	}
	return append(variables,
		celVariable("queue", `variables.annotations[?'`+queueAnnotation+`'].orValue('')`),
		celVariable("aboveShare", `variables.queue == '' || !variables.known ? [] : `+celAmountsAboveCharge("limits")+`
+ `+celAmountsAboveCharge("requests")))
}

// celExcessiveAmounts are the amounts of a list of resources that no machine of the profile has.
func celExcessiveAmounts(list string) string {
	asked := `string(variables.` + list + `[r])`
	return `(variables.known ? variables.` + list + `.filter(r, !isQuantity(` + asked + `) || quantity(` + asked + `).isGreaterThan(quantity(variables.profile[?r].orValue('0')))).map(r,
  ` + asked + ` + ' ' + r + ', a machine of profile ` + "`' + variables.runtime[?'profile'].orValue('') + '`" + ` has ' + variables.profile[?r].orValue('none')) : [])`
}

// celExceedsBound reports whether a list of resources has more of one than the bound m, `<resource>=<amount>`.
func celExceedsBound(list string) string {
	asked := `string(variables.` + list + `[r])`
	return `variables.` + list + `.exists(r, m.startsWith(r + '=') && isQuantity(` + asked + `) && quantity(` + asked + `).isGreaterThan(quantity(m.substring(r.size() + 1))))`
}

// catalogVariables are the bounds of runtimes and what a machine of each profile has, one variable each, so that each has the origin
// of its own spec, and two tables of them. All amounts are strings, because a map of CEL has one type of values.
func catalogVariables(c *plan.Cluster) []object.Node {
	var variables []object.Node
	var runtimes, profiles []string
	for _, p := range c.Profiles() {
		name := "profile_" + celIdentifier(p.Name)
		variables = append(variables, celVariableFrom(name, profileOffers(p), derivedFrom("what one machine of the profile has", offerOrigins(p)...)))
		profiles = append(profiles, celString(p.Name)+": variables."+name)
	}
	for _, r := range c.Runtimes {
		name := "runtime_" + celIdentifier(r.Name.V)
		variables = append(variables, celVariableFrom(name, runtimeBounds(c, r), boundOrigins(c, r)))
		runtimes = append(runtimes, celString(r.Name.V)+": variables."+name)
	}
	return append(variables, celMapVariable("profiles", profiles), celMapVariable("runtimes", runtimes))
}

func boundOrigins(c *plan.Cluster, r *plan.Runtime) *origin.Origin {
	from := append([]*origin.Origin{&r.MaxNodes.Origin, &r.MinNodes.Origin, &r.DefaultNodes.Origin, &r.Slots.Origin, &r.ProfileName.Origin}, placementOrigins(r.Profile)...)
	if c.Queueing == nil {
		return derivedFrom("the bounds of the runtime: nodes, ranks per node, and machines", from...)
	}
	return derivedFrom("the bounds of the runtime: nodes, ranks per node, machines, and what its queue counts for a node", append(append(from, &r.CPU.Origin, &r.Memory.Origin), offerOrigins(r.Profile)...)...)
}

func offerOrigins(p *plan.Profile) []*origin.Origin {
	offers := p.Allocatable()
	origins := make([]*origin.Origin, len(offers))
	for i := range offers {
		origins[i] = &offers[i].Origin
	}
	return origins
}

// derivedFrom is the origin of what is made of several values, the most important first.
func derivedFrom(how string, from ...*origin.Origin) *origin.Origin {
	made := &origin.Origin{At: from[0].At, Kind: origin.Derived, Why: how, Lost: from[0].Lost, Also: slices.Clone(from[0].Also)}
	for _, other := range from[1:] {
		made.Also = append(append(made.Also, other.At), other.Also...)
		made.Lost = append(made.Lost[:len(made.Lost):len(made.Lost)], other.Lost...)
	}
	return made
}

// celMapVariable is a map of CEL. One without entries needs a type all the same.
func celMapVariable(name string, entries []string) object.Node {
	if len(entries) == 0 {
		return celVariableFrom(name, "{'': {'': ''}}", runtimeTableRule)
	}
	return celVariableFrom(name, "{\n  "+strings.Join(entries, ",\n  ")+"}", runtimeTableRule)
}

// celIdentifier makes a name of CEL from a DNS label. Labels have no underscores, so that different ones stay different.
func celIdentifier(label string) string { return strings.ReplaceAll(label, "-", "_") }

func profileOffers(p *plan.Profile) string {
	offers := p.Allocatable()
	entries := make([]string, len(offers))
	for i := range offers {
		entries[i] = celString(offers[i].Name) + ": " + celString(offers[i].V.String())
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func runtimeBounds(c *plan.Cluster, r *plan.Runtime) string {
	number := func(n int64) string { return celString(strconv.FormatInt(n, 10)) }
	share := ""
	if c.Queueing != nil {
		share = queueChargeEntries(r)
	}
	return "{'minNodes': " + number(int64(r.MinNodes.V)) +
		", 'maxNodes': " + number(int64(r.MaxNodes.V)) +
		", 'nodes': " + number(int64(r.DefaultNodes.V)) +
		", 'maxSlots': " + number(r.MaxSlots()) +
		", 'profile': " + celString(r.Profile.Name) +
		", 'accelerator': " + celString(r.Profile.Accelerator.V) + placementEntries(r.Profile) + share + "}"
}

func runtimeValidation() object.Node {
	return celValidation("!variables.changed || variables.known || variables.external",
		"spec.runtimeRef names a runtime that the tenant may not use",
		"spec.runtimeRef is {variables.kind} `{variables.name}`; tenant `{variables.tenant}` may use ClusterTrainingRuntime `{(variables.allowed.filter(n, n != '') + variables.others).join('`, `')}`"+
			"{variables.variants[0] == '' ? '' : ', TrainingRuntime `' + variables.variants.map(v, v.split('=')[0]).join('`, `') + '`'}"+
			": name one of these, or ask the platform team for the other")
}

func nodesValidation() object.Node {
	return celValidation("!variables.changed || !variables.known || (variables.nodes >= variables.least && variables.nodes <= variables.most)",
		"spec.trainer.numNodes is outside the bounds of the runtime",
		"spec.trainer.numNodes is {variables.nodes}; runtime `{variables.name}` runs on {variables.least} to {variables.most} nodes: ask for a number between them")
}

func slotsValidation() object.Node {
	return celValidation("!variables.changed || !variables.known || (type(variables.slots) == int && variables.slots >= 1 && variables.slots <= variables.maxSlots)",
		"spec.trainer.numProcPerNode is outside the bounds of the runtime",
		"spec.trainer.numProcPerNode is {variables.slots}; a node of runtime `{variables.name}` has 1 to {variables.maxSlots} ranks"+
			"{variables.accelerator == '' ? '' : ', one per ' + variables.accelerator}: ask for a number between them")
}

func resourcesValidation() object.Node {
	return celValidation("!variables.changed || variables.excess.size() == 0",
		"spec.trainer.resourcesPerNode asks for more than a machine has",
		"spec.trainer.resourcesPerNode asks for {variables.excess.size() > 0 ? variables.excess.min() : ''}: ask for at most that, or leave it out to get what the runtime has")
}

func containerValidation() object.Node {
	return celValidation("!variables.changed || variables.overContainer.size() == 0",
		"spec.trainer.resourcesPerNode asks for more than one container may have",
		"spec.trainer.resourcesPerNode asks for more than one container of tenant `{variables.tenant}` may have ({variables.overContainer.join(', ')}, LimitRange lockstep-limits): ask for at most that")
}

func acceleratorsValidation() object.Node {
	return celValidation("!variables.changed || variables.grant < 0 || variables.total <= variables.grant",
		"the TrainJob takes more accelerators than the tenant has",
		"{variables.nodes} nodes with {variables.perNode} {variables.accelerator} each are {variables.total}; tenant `{variables.tenant}` may use {variables.grant}"+
			" on machines of profile `{variables.runtime[?'profile'].orValue('')}`: ask for at most {variables.perNode > 0 ? variables.grant / variables.perNode : 0} nodes")
}

// queueValidation looks at the label when it comes or changes. Kueue leaves jobs without it alone: they would take machines that
// others were promised.
func queueValidation() object.Node {
	const label = `.metadata.?labels[?'` + queueLabel + `'].orValue('')`
	return celValidation(`object`+label+` == variables.queue || (oldObject != null && object`+label+` == oldObject`+label+`)`,
		"the label "+queueLabel+" does not name the queue of the namespace",
		"the label "+queueLabel+" is {object"+label+" == '' ? 'missing' : '`' + object"+label+" + '`'}; "+
			"{variables.queue == '' ? 'tenant `' + variables.tenant + '` has no queue on this cluster: remove the label' : "+
			"'jobs of tenant `' + variables.tenant + '` wait in queue `' + variables.queue + '`: set the label to `' + variables.queue + '`'}")
}

func priorityValidation(c *plan.Cluster) object.Node {
	const label = `.metadata.?labels[?'` + priorityLabel + `'].orValue('')`
	known := make([]string, 0, 1+len(c.Priorities))
	known = append(known, "''")
	names := make([]string, 0, len(c.Priorities))
	for i := range c.Priorities {
		known = append(known, celString(c.Priorities[i].Name.V))
		names = append(names, "`"+c.Priorities[i].Name.V+"`")
	}
	advice := "the cluster has no priorities: remove the label"
	if len(names) > 0 {
		advice = "the cluster has " + strings.Join(names, ", ") + ": name one of these, or remove the label"
	}
	return celValidation(`object`+label+` in [`+strings.Join(known, ", ")+`] || (oldObject != null && object`+label+` == oldObject`+label+`)`,
		"the label "+priorityLabel+" names no priority of the cluster",
		"the label "+priorityLabel+" is `{object"+label+"}`; "+advice)
}

// tenantValidation keeps jobs from showing up as another team's in metrics and dashboards.
func tenantValidation() object.Node {
	const label = `.metadata.?labels[?'` + mpi.TenantLabel + `'].orValue(variables.tenant)`
	return celValidation(`object`+label+` == variables.tenant || (oldObject != null && object`+label+` == oldObject`+label+`)`,
		"the label "+mpi.TenantLabel+" names another tenant",
		"the label "+mpi.TenantLabel+" is `{object"+label+"}`; the namespace belongs to tenant `{variables.tenant}`: remove the label")
}
