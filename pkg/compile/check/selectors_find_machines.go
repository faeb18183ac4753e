package check

import (
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// selectorsFindMachines refuses labels by which no machine for jobs is found, and warns of those by which only one is.
func selectorsFindMachines(c *plan.Cluster, list *diag.List) {
	for _, p := range c.Profiles() {
		for _, l := range p.NodeSelector {
			switch {
			case l.Name == corev1.LabelOSStable && l.V != "linux":
				list.Errorf(diag.NoSuchMachines, l.At, "the agent runs on Linux, and `%s: %s` selects other machines", l.Name, l.V).Helpf("remove the label: pods of jobs start on Linux")
			case l.Name == "nvidia.com/gpu.product" && p.Product.V != "" && l.V != p.Product.V:
				list.Warnf(diag.Contradiction, l.At, "the label selects `%s`, and `product` is `%s`", l.V, p.Product.V).
					Also(p.Product.At, "the accelerator").Helpf("remove the label: `product` selects the machines")
			case l.Name == corev1.LabelArchStable && l.V != "amd64" && l.V != "arm64":
				list.Errorf(diag.NoSuchMachines, l.At, "there is no agent for `%s`", l.V).Helpf("write `amd64` or `arm64`")
			case l.Name == corev1.LabelHostname && machineCount(c, p.Name) > 1:
				list.Errorf(diag.NoSuchMachines, l.At, "the label selects one machine, and the cluster `%s` has %d of `%s`", c.Name.V, machineCount(c, p.Name), p.Name).
					Helpf("use a label that all of them have, or say at `capacity` that there is one")
			}
		}
	}
}

func machineCount(c *plan.Cluster, profile string) int32 {
	for _, m := range c.Capacity {
		if m.Profile.Name == profile {
			return m.Nodes.V
		}
	}
	return 0
}
