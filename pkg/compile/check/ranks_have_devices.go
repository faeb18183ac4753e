package check

import (
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// ranksHaveDevices warns of nodes with more or fewer ranks than devices. A rank of PyTorch or TensorFlow may start a
// process for each device itself.
func ranksHaveDevices(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		ranks, devices := r.Slots.V, r.Profile.Accelerators.V
		startsOthers := r.Framework.V == "torch" || r.Framework.V == "tensorflow"
		if devices == 0 || ranks == devices || ranks == 1 && (startsOthers || !c.Bundled.V) {
			continue // Kubeflow Trainer starts several ranks for one slot, and trainerReadsAlike reports it
		}
		at := r.Slots.At
		if r.Slots.Kind == origin.Default {
			at = r.ProfileName.At
		}
		report := list.Warnf(diag.RanksWithoutDevices, at, "ranks per node are %d, and a node has %d of `%s`",
			ranks, devices, r.Profile.Accelerator.V).Also(r.Profile.Accelerators.At, "the devices")
		report.Notef("devices without a rank stay idle, and NCCL refuses ranks that share one").
			Helpf("write `slotsPerNode: auto`, one rank for each device, or accept it with a waiver")
	}
}

// ofPlugin is read by a container runtime, ofProcess by each process.
var (
	ofPlugin  = regexp.MustCompile(`^(NVIDIA|AMD|HABANA)_VISIBLE_DEVICES$`)
	ofProcess = regexp.MustCompile(`^((CUDA|ROCR|HIP)_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|ZE_AFFINITY_MASK)$`)
)

// devicesAreVisible warns of variables that give pods other devices than they were allocated, or hide some.
func devicesAreVisible(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			devices, value := int(r.Profile.Accelerators.V), v.Value.V
			hides := value == "" || value == "void" || value == "none"
			switch seen := len(strings.Fields(strings.ReplaceAll(value, ",", " "))); {
			case v.Why != "":
			case ofPlugin.MatchString(v.Name.V) && (devices > 0 || !hides):
				list.Warnf(diag.RanksWithoutDevices, v.Value.At, "`%s: %s` takes the place of the pod's own devices",
					v.Name.V, value).
					Notef("the device plugin sets it to what the pod was allocated; `all` is every device of the machine").
					Helpf("remove it: a node of a job has %d of `%s`", devices, r.Profile.Accelerator.V)
			case ofProcess.MatchString(v.Name.V) && devices > 0 && seen != devices:
				list.Warnf(diag.RanksWithoutDevices, v.Value.At, "`%s` shows %d devices to each rank, and a node has %d",
					v.Name.V, seen, devices).Also(r.Profile.Accelerators.At, "the devices").
					Helpf("remove it: a rank takes the device of its local rank; if it is meant, write why as `reason`")
			}
		}
	}
}
