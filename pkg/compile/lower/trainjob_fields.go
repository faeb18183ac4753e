package lower

import "lockstep.dev/lockstep/pkg/compile/object"

// What a TrainJob may have besides patches (kubeflow/trainer pkg/apis, TrainJobSpec). Variables and Secrets of an initializer are another way
// into pods: for them holds what holds for those of the trainer.
var (
	specFields    = []string{"activeDeadlineSeconds", "initializer", "managedBy", "runtimePatches", "runtimeRef", "suspend", "trainer"}
	initializers  = []string{"dataset", "model"}
	dataFields    = []string{"env", "secretRef", "storageUri"}
	trainerFields = []string{"args", "command", "env", "image", "numNodes", "numProcPerNode", "resourcesPerNode"}
)

// celInitializer is a field of the initializer of a TrainJob, where it has one.
func celInitializer(step, field string) string {
	return `dyn(object).?spec.?initializer.?` + step + `.?` + field
}

func fieldVariables() []object.Node {
	unknown := func(entries string, known ...string) string {
		return `!variables.changed ? '' : ` + celUnknownKey(entries, known...)
	}
	return []object.Node{celVariable("unknownFields", celJoinFindings(
		celSmallestKey(`dyn(object).?spec.orValue({})`, `!(k in [`+celStrings(specFields)+`]) && (oldObject == null || !(k in dyn(oldObject).?spec.orValue({})))`),
		unknown(`dyn(object).?spec.?trainer.orValue({})`, trainerFields...),
		unknown(`dyn(object).?spec.?trainer.?resourcesPerNode.orValue({})`, "limits", "requests"),
		unknown(`dyn(object).?spec.?initializer.orValue({})`, initializers...),
		unknown(`dyn(object).?spec.?initializer.?dataset.orValue({})`, dataFields...),
		unknown(`dyn(object).?spec.?initializer.?model.orValue({})`, dataFields...)))}
}

func fieldValidations() []object.Node {
	return []object.Node{celValidation("variables.unknownFields == ''",
		"the TrainJob has a field that the platform does not support",
		"the TrainJob sets `{variables.unknownFields}`, which the platform does not support; spec may have activeDeadlineSeconds, initializer, managedBy, runtimePatches, runtimeRef, suspend and trainer, "+
			"spec.initializer dataset and model (env, secretRef, storageUri), and spec.trainer args, command, env, image, numNodes, numProcPerNode and "+
			"resourcesPerNode (limits, requests): remove it")}
}
