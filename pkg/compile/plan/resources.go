package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/mpi"
)

// World returns the world of a job with a number of nodes.
func (r *Runtime) World(nodes int32) mpi.World {
	return mpi.World{Nodes: nodes, SlotsPerNode: r.Slots.V, LauncherRunsRanks: r.LauncherRunsRanks.V}
}

// NodeResources returns what one node takes: its share of CPU and memory, and all devices and huge pages of a machine.
func (r *Runtime) NodeResources() corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, offer := range r.Profile.Offers() {
		list[corev1.ResourceName(offer.Name)] = offer.V
	}
	list[corev1.ResourceCPU], list[corev1.ResourceMemory] = r.CPU.V, r.Memory.V
	return list
}

// LauncherResources returns what the launcher takes.
func (r *Runtime) LauncherResources() corev1.ResourceList {
	if r.LauncherRunsRanks.V {
		return r.NodeResources()
	}
	return corev1.ResourceList{corev1.ResourceCPU: r.LauncherCPU.V, corev1.ResourceMemory: r.LauncherMemory.V}
}

// JobResources returns what a whole job with a number of nodes takes from a quota, launcher and pods included.
func (r *Runtime) JobResources(nodes int32) corev1.ResourceList {
	world := r.World(nodes)
	total := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(world.Pods()), resource.DecimalSI)}
	add(total, r.LauncherResources(), 1)
	add(total, r.NodeResources(), int64(world.NodePods()))
	return total
}

func add(total, part corev1.ResourceList, times int64) {
	for name, quantity := range part {
		product := quantity.DeepCopy()
		product.Mul(times)
		sum := total[name]
		sum.Add(product)
		total[name] = sum
	}
}

// Admits says whether a tenant may use the runtime.
func (r *Runtime) Admits(tenant string) bool {
	return len(r.Tenants) == 0 || slices.Contains(r.Tenants, tenant)
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
