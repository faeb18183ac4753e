package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	trainJobLabelPolicyName = "lockstep-trainjob-label"
	mutatingPolicy          = "mutating admission policy"
)

var (
	mutationRule  = origin.Rule(mutatingPolicy, "MPI jobs are found by their label as soon as the API server takes them")
	failOpenRule  = origin.Rule(mutatingPolicy, "no job is refused for a label: the controller writes it too")
	defaultedRule = origin.Rule(mutatingPolicy, "the API server writes it, and Argo CD, which does not know the kind, would "+
		"show a difference without")
	invocationRule = origin.Rule(mutatingPolicy, "the label depends on nothing that other mutations change")
)

// celTrainJobLabel gives a TrainJob its label. The name is empty until the API server makes one of
// metadata.generateName, and a name that is too long for a label is refused later, with the reason.
const celTrainJobLabel = `variables.ours && variables.job != '' && variables.job.size() <= 63
? Object{metadata: Object.metadata{labels: {'` + mpi.TrainJobLabel + `': variables.job}}}
: Object{}`

// trainJobLabelPolicy labels the TrainJobs of a tenant's MPI runtimes. Annotations of the tenant's namespaces name
// these, so that the policy is the same in all clusters.
func (b *builder) trainJobLabelPolicy(c *plan.Cluster) {
	if !c.LabelsAtAdmission() {
		return
	}
	variables := []object.Node{
		celVariable("annotations", `namespaceObject.metadata.?annotations.orValue({})`),
		celVariable("job", `dyn(object).metadata.?name.orValue('')`),
		celVariable("kind", `dyn(object).?spec.?runtimeRef.?kind.orValue('ClusterTrainingRuntime')`),
		celVariable("name", `dyn(object).?spec.?runtimeRef.?name.orValue('')`),
		celVariable("ours", `variables.kind == 'TrainingRuntime'
? variables.annotations[?'`+variantsAnnotation+`'].orValue('').split(',')
  .exists(v, v.startsWith(variables.name + '='))
: variables.name in variables.annotations[?'`+runtimesAnnotation+`'].orValue('').split(',')`),
	}
	jobs := requestKind("trainer.kubeflow.org", "v1alpha1", "trainjobs", "CREATE", "UPDATE")
	jobs.Children = append(jobs.Children, object.Text("scope", "*", defaultedRule))
	b.add(mutationRule, admissionVersion, "MutatingAdmissionPolicy",
		platformMeta(constantText(trainJobLabelPolicyName)),
		object.Map("spec",
			object.Text("failurePolicy", "Ignore", failOpenRule),
			object.Map("matchConstraints", object.Text("matchPolicy", "Equivalent", defaultedRule),
				tenantSelector("namespaceSelector"), object.Map("objectSelector"), object.List("resourceRules", jobs)),
			object.List("mutations", object.Map("",
				object.Map("applyConfiguration", object.Text("expression", celTrainJobLabel, expressionRule)),
				object.Text("patchType", "ApplyConfiguration", nil))),
			object.Text("reinvocationPolicy", "Never", invocationRule),
			object.List("variables", variables...)))
	b.add(denyBindingRule, admissionVersion, "MutatingAdmissionPolicyBinding",
		platformMeta(constantText(trainJobLabelPolicyName)),
		object.Map("spec", object.Text("policyName", trainJobLabelPolicyName, nil)))
}
