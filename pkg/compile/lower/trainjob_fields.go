package lower

import "lockstep.dev/lockstep/pkg/compile/object"

// What a TrainJob may have besides patches (kubeflow/trainer pkg/apis, TrainJobSpec). `initializer` is not among it: MPI runtimes have no
// job that would take it, and what it hands to the jobs of other runtimes nobody has looked at.
var (
	specFields    = []string{"activeDeadlineSeconds", "managedBy", "runtimePatches", "runtimeRef", "suspend", "trainer"}
	trainerFields = []string{"args", "command", "env", "image", "numNodes", "numProcPerNode", "resourcesPerNode"}
)

func fieldVariables() []object.Node {
	return []object.Node{celVariable("unknownFields", celJoinFindings(
		celSmallestKey(`dyn(object).?spec.orValue({})`, `!(k in [`+celStrings(specFields)+`]) && (oldObject == null || !(k in dyn(oldObject).?spec.orValue({})))`),
		`!variables.changed ? '' : `+celUnknownKey(`dyn(object).?spec.?trainer.orValue({})`, trainerFields...),
		`!variables.changed ? '' : `+celUnknownKey(`dyn(object).?spec.?trainer.?resourcesPerNode.orValue({})`, "limits", "requests")))}
}

func fieldValidations() []object.Node {
	return []object.Node{celValidation("variables.unknownFields == ''",
		"the TrainJob has a field that the platform does not support",
		"the TrainJob sets `{variables.unknownFields}`, which the platform does not support; spec may have activeDeadlineSeconds, managedBy, runtimePatches, runtimeRef, suspend and trainer, "+
			"and spec.trainer args, command, env, image, numNodes, numProcPerNode and resourcesPerNode (limits, requests): remove it; data is loaded by the command, or from a volume")}
}
