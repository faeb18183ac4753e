package check

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// hugePagesAreWhole asks for whole pages, as kubelet does: a pod with half a page is refused.
func hugePagesAreWhole(c *plan.Cluster, list *diag.List) {
	for _, p := range usedProfiles(c) {
		h := p.HugePages
		if h == nil {
			continue
		}
		page := resource.MustParse(h.Size.V)
		if h.Amount.V.Value()%page.Value() != 0 {
			list.Errorf(diag.HugePagesNotWhole, h.Amount.At, "%s is not a whole number of pages of %s", h.Amount.V.String(), h.Size.V).
				Helpf("write a multiple of %s", h.Size.V)
		}
	}
}

// givenSharedMemory is what container runtimes give every container.
var givenSharedMemory = resource.MustParse("64Mi")

// sharedMemoryMatters warns of a size that containers have anyway: who wrote it most often means another unit.
func sharedMemoryMatters(c *plan.Cluster, list *diag.List) {
	for _, p := range usedProfiles(c) {
		if size := p.SharedMemory; size.V != nil && size.V.Cmp(givenSharedMemory) <= 0 {
			list.Warnf(diag.SettingInVain, size.At, "`%s` of shared memory is no more than the %s that every container has", size.V.String(), givenSharedMemory.String()).
				Helpf("write an amount above it, such as 64Gi, or remove it")
		}
	}
}

// sharedMemoryFits asks for more memory per node than /dev/shm may take of it: what is written there counts as memory of the pod, and
// a full /dev/shm would leave nothing for the ranks.
func sharedMemoryFits(c *plan.Cluster, list *diag.List) {
	// Runtimes that take what the profile offers have the mistake in common.
	told := map[source.Span]bool{}
	for r := range c.Compiled() {
		size := r.Profile.SharedMemory
		if size.V != nil && size.V.Cmp(r.Memory.V) >= 0 && !told[r.Memory.At] {
			told[r.Memory.At] = true
			list.Errorf(diag.SharedMemoryTooLarge, size.At, "shared memory of %s leaves nothing of the %s of memory that one node of the runtime `%s` takes", size.V.String(), r.Memory.V.String(), r.Name.V).
				Also(r.Memory.At, "taken here").Helpf("raise the memory of the node, or lower `sharedMemory`: it is a part of that memory")
		}
	}
}
