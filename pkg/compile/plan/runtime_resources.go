package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/mpi"
)

// World returns the world of a job with a number of nodes.
func (r *Runtime) World(nodes int32) mpi.World {
	return mpi.World{Nodes: nodes, SlotsPerNode: r.Slots.V, LauncherRunsRanks: r.LauncherRunsRanks.V}
}

// NodeResources returns what one node takes: its share of CPU and memory, and all devices and huge pages of a machine.
func (r *Runtime) NodeResources() corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, offer := range r.Profile.Allocatable() {
		list[corev1.ResourceName(offer.Name)] = offer.V
	}
	list[corev1.ResourceCPU], list[corev1.ResourceMemory] = r.CPU.V, r.Memory.V
	return list
}

// CPULimit returns the most CPU that a container of the runtime may use: twice what a machine offers, and no less than it asks for. No
// rank reaches it, so that the kernel never throttles one. It is there because clients read what a pod runs on from its limits (Kubeflow's
// SDK knows GPUs, TPUs and CPUs there, and nothing else).
func (r *Runtime) CPULimit() Value[resource.Quantity] {
	limit := r.Profile.CPU.V.DeepCopy()
	limit.Add(r.Profile.CPU.V)
	for _, asked := range []resource.Quantity{r.CPU.V, r.LauncherCPU.V} {
		if asked.Cmp(limit) > 0 {
			limit = asked.DeepCopy()
		}
	}
	return Value[resource.Quantity]{V: limit, Origin: origin.Origin{
		At: r.Profile.CPU.At, Kind: origin.Derived, Why: "twice what a machine offers: clients read a CPU from limits, and the kernel never throttles a rank",
	}}
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
	addResources(total, r.LauncherResources(), 1)
	addResources(total, r.NodeResources(), int64(world.NodePods()))
	return total
}

func addResources(total, part corev1.ResourceList, times int64) {
	for name, quantity := range part {
		product := quantity.DeepCopy()
		product.Mul(times)
		sum := total[name]
		sum.Add(product)
		total[name] = sum
	}
}

// Admits reports whether a tenant may use the runtime.
func (r *Runtime) Admits(tenant string) bool {
	return len(r.Tenants) == 0 || slices.Contains(r.Tenants, tenant)
}

func uniqueNames(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
