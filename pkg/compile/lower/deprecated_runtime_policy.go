package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/mpi"
)

var warnsRule = origin.Rule("admission policy", "users of a deprecated runtime read its end, and no job is refused")

// deprecatedRuntimePolicy warns of TrainJobs that name a deprecated runtime, in the words of mpi.Deprecation. The
// runtimes are its parameters, so that it is the same for all lifecycles. TrainJobs cannot change their runtime.
func deprecatedRuntimePolicy(name, kind string) admissionPolicy {
	note := func(variable, annotation, before, after string) object.Node {
		return celVariable(variable, `params.metadata.?annotations[?'`+annotation+`'].optMap(text, '`+before+
			`' + text.trim().replace('\n', ' ') + '`+after+`').orValue('')`)
	}
	return admissionPolicy{
		name:       name,
		deprecated: kind,
		rules:      []object.Node{requestKind("trainer.kubeflow.org", "v1alpha1", "trainjobs", "CREATE")},
		variables: []object.Node{
			celVariable("kind", `object.?spec.?runtimeRef.?kind.orValue('ClusterTrainingRuntime')`),
			celVariable("name", `object.?spec.?runtimeRef.?name.orValue('')`),
			note("end", mpi.RetireOnAnnotation, " and retires on ", ""),
			note("successor", mpi.SuccessorAnnotation, "; use `", "` instead"),
			note("reason", mpi.DeprecationReasonAnnotation, ": ", ""),
		},
		validations: []object.Node{celValidation(
			`variables.kind != '`+kind+`' || variables.name != params.metadata.name`,
			"the runtime is deprecated: `kubectl mpi runtimes` shows its end",
			"runtime `{params.metadata.name}` is deprecated{variables.end}{variables.successor}{variables.reason}")},
	}
}
