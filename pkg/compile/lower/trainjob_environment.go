package lower

import "lockstep.dev/lockstep/pkg/compile/object"

// Container runtimes hand out devices to whoever names them in such variables, past scheduler and device plugin, and what a pod says wins
// over what the plugin says (https://github.com/NVIDIA/nvidia-container-toolkit, `accept-nvidia-visible-devices-envvar-when-unprivileged`).
// Those that only programs read are harmless: CUDA and its like show less than there is.
const (
	harmlessNVIDIA = `^NVIDIA_(DISABLE_REQUIRE|DRIVER_CAPABILITIES|REQUIRE_.*|TF32_OVERRIDE)$`
	harmlessChoice = `^(CUDA|GPU|HIP|ROCR|TPU)_VISIBLE_DEVICES$`
)

// variableSources are where a variable may come from.
var variableSources = []string{"configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef"}

func environmentVariables() []object.Node {
	return []object.Node{
		// A job that was admitted stays; its trainer cannot change.
		celVariable("environment", `variables.changed ? dyn(object).?spec.?trainer.?env.orValue([])
  + `+celInitializer("dataset", "env.orValue([])")+` + `+celInitializer("model", "env.orValue([])")+` : []`),
		celVariable("sources", celOverVariables(celUnknownKey(`e.?valueFrom.orValue({})`, variableSources...))),
		celVariable("devices", celOverVariables(`e.name.startsWith('NVIDIA_') && !e.name.matches(`+celString(harmlessNVIDIA)+`) || e.name.endsWith('_VISIBLE_DEVICES') && !e.name.matches(`+celString(harmlessChoice)+`) ? e.name : ''`)),
	}
}

// celOverVariables joins what an expression over the environment variable e finds in the TrainJob and all patches.
func celOverVariables(finding string) string {
	return celJoinFindings(celJoinTexts(`variables.environment.map(e, `+finding+`)`), celOverContainers(celJoinTexts(`c.?env.orValue([]).map(e, `+finding+`)`)))
}

func environmentValidations() []object.Node {
	return []object.Node{
		celValidation("variables.sources == ''",
			"a variable of the TrainJob comes from where none may",
			"the TrainJob takes a variable from `{variables.sources}`; allowed are configMapKeyRef, fieldRef, resourceFieldRef and secretKeyRef: use one of these"),
		celValidation("variables.devices == ''",
			"a variable of the TrainJob asks for devices past the scheduler",
			"the TrainJob sets {variables.devices}, by which container runtimes hand out devices that nobody asked the scheduler for; pods get those that the runtime or spec.trainer.resourcesPerNode asks for: remove it, and choose among them with CUDA_VISIBLE_DEVICES"),
	}
}
