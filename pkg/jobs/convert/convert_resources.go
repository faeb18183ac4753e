package convert

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const resourcesTo = "spec.trainer.resourcesPerNode"

// convertResources are what the pods with ranks ask for.
func (c *converter) convertResources() {
	ranks, path := c.rankSpec()
	container, at := c.mainContainer(ranks, path)
	limits := c.convertAmounts(container.Resources.Limits, at+".resources.limits")
	requests := c.convertAmounts(container.Resources.Requests, at+".resources.requests")
	c.need.limits, c.need.requests = limits, requests
	if len(limits)+len(requests) > 0 {
		c.trainer.ResourcesPerNode = &corev1.ResourceRequirements{Limits: limits, Requests: requests}
	}
	launcher, _ := c.mainContainer(c.launcherSpec(), launcherPath)
	c.need.launcher = corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{launcher.Resources.Limits, launcher.Resources.Requests} {
		maps.Copy(c.need.launcher, list)
	}
}

func (c *converter) convertAmounts(list corev1.ResourceList, path string) corev1.ResourceList {
	counted := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		at, text := childPath(path, string(name)), string(name)
		known := name == corev1.ResourceCPU || name == corev1.ResourceMemory || strings.HasPrefix(text, corev1.ResourceHugePagesPrefix) || strings.Contains(text, "/")
		switch amount := list[name]; {
		case !known:
			c.add(NotPossible, at, "", "machines offer CPU, memory, huge pages and devices: write large files to a volume with a size (`emptyDir.sizeLimit`)")
		case amount.Sign() < 0:
			c.add(NotPossible, at, "", "an amount is not negative")
		default:
			counted[name] = amount
			c.add(Carried, at, resourcesTo, "")
		}
	}
	if len(counted) == 0 {
		return nil
	}
	return counted
}

// convertLauncherResources: a launcher that runs ranks takes what a node takes, one apart from them what the runtime gives it.
func (c *converter) convertLauncherResources() {
	ranks, path := c.rankSpec()
	container, _ := c.mainContainer(c.launcherSpec(), launcherPath)
	_, at := c.mainContainer(c.launcherSpec(), launcherPath)
	node, _ := c.mainContainer(ranks, path)
	own, to := c.choice.runtime.Spec.Launcher, "MPIRuntime spec.launcher"
	for _, part := range []struct {
		name string
		list corev1.ResourceList
	}{{"limits", container.Resources.Limits}, {"requests", container.Resources.Requests}} {
		for _, name := range slices.Sorted(maps.Keys(part.list)) {
			amount := part.list[name]
			field, given := childPath(at+".resources."+part.name, string(name)), own.CPU
			if name == corev1.ResourceMemory {
				given = own.Memory
			}
			device := name != corev1.ResourceCPU && name != corev1.ResourceMemory
			switch {
			case at == c.rankPath():
			case own.RunsRanks && reflect.DeepEqual(container.Resources, node.Resources):
				c.add(Carried, field, resourcesTo, "")
			case own.RunsRanks:
				c.add(Differs, field, resourcesTo, "the launcher is a node, and takes what a node takes")
			case device:
				c.add(NotPossible, field, "", "a launcher apart from the nodes takes CPU and memory only")
			case !given.IsZero() && given.Cmp(amount) >= 0:
				c.add(ByRuntime, field, to, "")
			default:
				c.add(Differs, field, to, "the launcher takes what runtime `%s` gives it", c.choice.runtime.Metadata.Name)
			}
		}
	}
}

func (c *converter) rankPath() string {
	ranks, path := c.rankSpec()
	_, at := c.mainContainer(ranks, path)
	return at
}

// noteLeftOut says what a node takes of CPU and memory that its worker did not ask for.
func (c *converter) noteLeftOut() {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if _, found := c.need.requested(name); !found {
			amount := nodeAmount(c.choice.runtime, c.choice.profile, name)
			c.addDefault(Differs, childPath(c.rankPath()+".resources.requests", string(name)), resourcesTo, "a node takes what the runtime has, %s", amount.String())
		}
	}
	if a := c.choice.profile.Spec.Accelerator; a != nil && c.need.slots == 1 && c.need.requestedValue(a.Resource) > 1 {
		c.addDefault(Differs, "spec.slotsPerWorker", "spec.trainer.numProcPerNode", "where Kubeflow Trainer runs the job, 1 means one rank per accelerator; `mpirun -n` decides how many start")
	}
}

func (n *jobNeed) requestedValue(resource string) int64 {
	amount, _ := n.requested(corev1.ResourceName(resource))
	return amount.Value()
}
