package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// jobNeed is what a job needs of a runtime.
type jobNeed struct {
	mpi          v1alpha1.MPI
	major        string
	image        string
	nodes, slots int32
	runsRanks    bool
	requests     corev1.ResourceList
	limits       corev1.ResourceList
	launcher     corev1.ResourceList
	nodeSelector map[string]string
	tolerations  []corev1.Toleration
	restarts     int32
	gangTimeout  string
	tenant       *v1alpha1.Tenant
	name         string
}

// requested is what a node of the job requests of a resource: a limit alone is also the request.
func (n *jobNeed) requested(name corev1.ResourceName) (resource.Quantity, bool) {
	if amount, found := n.requests[name]; found {
		return amount, true
	}
	amount, found := n.limits[name]
	return amount, found
}

// deviceNames are the resources that are neither CPU nor memory, sorted.
func (n *jobNeed) deviceNames() []corev1.ResourceName {
	var names []corev1.ResourceName
	for _, list := range []corev1.ResourceList{n.requests, n.limits} {
		for name := range list {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// chosenRuntime is the runtime of a job.
type chosenRuntime struct {
	runtime *v1alpha1.MPIRuntime
	profile *v1alpha1.HardwareProfile
	// rejected says why runtimes of the same library do not fit.
	rejected []string
}

// chooseRuntime returns the runtime that fits best: one that the tenant uses, then one with the same image, then one
// whose launcher is alike, then the smallest machine.
func (c *Catalog) chooseRuntime(n *jobNeed) (chosenRuntime, bool) {
	known := c.smallestProfile(n)
	var fitting []chosenRuntime
	var rejected []string
	for _, r := range c.runtimes {
		p := c.findProfile(r.Spec.Profile)
		if p == nil || r.Spec.Lifecycle == v1alpha1.Retired || r.Spec.Lifecycle == v1alpha1.Deprecated || !isSameLibrary(r.Spec.MPI, n) {
			continue
		}
		if why := whyUnfit(r, p, n); why != "" {
			rejected = append(rejected, "`"+r.Metadata.Name+"`: "+why)
			continue
		}
		if c.isProposedProfile(p) && known != nil && !c.isProposedProfile(known) {
			continue // machines that somebody has described are there
		}
		fitting = append(fitting, chosenRuntime{runtime: r, profile: p})
	}
	slices.Sort(rejected)
	if len(fitting) == 0 {
		return chosenRuntime{rejected: rejected}, false
	}
	return slices.MinFunc(fitting, func(a, b chosenRuntime) int {
		return cmp.Or(
			trueFirst(mayUse(n.tenant, a.runtime), mayUse(n.tenant, b.runtime)),
			trueFirst(a.runtime.Spec.Image == n.image, b.runtime.Spec.Image == n.image),
			trueFirst(a.runtime.Spec.Launcher.RunsRanks == n.runsRanks, b.runtime.Spec.Launcher.RunsRanks == n.runsRanks),
			a.profile.Spec.Node.CPU.Cmp(b.profile.Spec.Node.CPU),
			cmp.Compare(a.runtime.Metadata.Name, b.runtime.Metadata.Name))
	}), true
}

// isProposedProfile reports whether a profile was made up for a job.
func (c *Catalog) isProposedProfile(p *v1alpha1.HardwareProfile) bool {
	return c.proposed[v1alpha1.HardwareProfileKind+"/"+p.Metadata.Name]
}

// trueFirst orders what is true before what is not.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func isSameLibrary(m v1alpha1.MPI, n *jobNeed) bool {
	major, _, _ := strings.Cut(m.Version, ".")
	return m.Implementation == n.mpi.Implementation && (m.Implementation != string(mpi.OpenMPI) || major == n.major)
}

// whyUnfit says why a runtime cannot run a job, or nothing.
func whyUnfit(r *v1alpha1.MPIRuntime, p *v1alpha1.HardwareProfile, n *jobNeed) string {
	least, most := max(1, r.Spec.Nodes.Min), cmp.Or(r.Spec.Nodes.Max, 100)
	switch {
	case len(r.Spec.Tenants) > 0 && (n.tenant == nil || !slices.Contains(r.Spec.Tenants, n.tenant.Metadata.Name)):
		return "for the tenants " + strings.Join(r.Spec.Tenants, ", ")
	case n.nodes < least || n.nodes > most:
		return fmt.Sprintf("%d to %d nodes, the job has %d", least, most, n.nodes)
	case n.slots > slotsLimit(r, p):
		return fmt.Sprintf("at most %d ranks per node, the job has %d", slotsLimit(r, p), n.slots)
	}
	if why := whyUnfitResources(r, p, n); why != "" {
		return why
	}
	return whyUnfitMachine(p, n)
}

// slotsLimit is what the compiler bounds numProcPerNode with (plan.Runtime.MaxSlots).
func slotsLimit(r *v1alpha1.MPIRuntime, p *v1alpha1.HardwareProfile) int32 {
	most := r.Spec.SlotsPerNode.IntVal
	if p.Spec.Accelerator != nil {
		return max(most, p.Spec.Accelerator.Count, 1)
	}
	cpu := nodeAmount(r, p, corev1.ResourceCPU)
	return max(most, int32(min(cpu.Value(), math.MaxInt32)), 1) //nolint:gosec // bounded
}

// nodeAmount is what a node of a runtime has of a resource; devices are the machine's.
func nodeAmount(r *v1alpha1.MPIRuntime, p *v1alpha1.HardwareProfile, name corev1.ResourceName) resource.Quantity {
	switch own := r.Spec.ResourcesPerNode; {
	case name == corev1.ResourceCPU && own.CPU != nil:
		return *own.CPU
	case name == corev1.ResourceMemory && own.Memory != nil:
		return *own.Memory
	}
	return machineAmount(p, name)
}

// machineAmount is what a machine of a profile offers of a resource.
func machineAmount(p *v1alpha1.HardwareProfile, name corev1.ResourceName) resource.Quantity {
	spec := p.Spec
	switch {
	case name == corev1.ResourceCPU:
		return spec.Node.CPU
	case name == corev1.ResourceMemory:
		return spec.Node.Memory
	case spec.Accelerator != nil && string(name) == spec.Accelerator.Resource:
		return *resource.NewQuantity(int64(spec.Accelerator.Count), resource.DecimalSI)
	case spec.Fabric.Resource != "" && string(name) == spec.Fabric.Resource:
		return *resource.NewQuantity(int64(max(1, spec.Fabric.Count)), resource.DecimalSI)
	case spec.HugePages != nil && string(name) == corev1.ResourceHugePagesPrefix+spec.HugePages.Size:
		return spec.HugePages.Amount
	}
	return resource.Quantity{}
}

func whyUnfitResources(r *v1alpha1.MPIRuntime, p *v1alpha1.HardwareProfile, n *jobNeed) string {
	for _, name := range append([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}, n.deviceNames()...) {
		asked, limit := resource.Quantity{}, n.limits[name]
		if amount, found := n.requested(name); found {
			asked = amount
		}
		has, machine := nodeAmount(r, p, name), machineAmount(p, name)
		if asked.Cmp(has) > 0 {
			return fmt.Sprintf("a node has %s %s, a worker asks for %s", has.String(), name, asked.String())
		}
		if limit.Cmp(machine) > 0 {
			return fmt.Sprintf("a machine has %s %s, a worker is limited to %s", machine.String(), name, limit.String())
		}
	}
	if p.Spec.Accelerator != nil && !slices.Contains(n.deviceNames(), corev1.ResourceName(p.Spec.Accelerator.Resource)) {
		return "its machines have " + p.Spec.Accelerator.Resource + ", which the workers do not ask for"
	}
	return ""
}

// productLabel is the label of machines by which a product of an accelerator is chosen (plan.Profile.NodeLabels).
const productLabel = "nvidia.com/gpu.product"

// machineLabelsOf are those by which machines of a profile are found.
func machineLabelsOf(p *v1alpha1.HardwareProfile) map[string]string {
	all := map[string]string{}
	if a := p.Spec.Accelerator; a != nil && a.Resource == "nvidia.com/gpu" && a.Product != "" {
		all[productLabel] = a.Product
	}
	for name, value := range p.Spec.NodeSelector {
		all[name] = value
	}
	return all
}

func whyUnfitMachine(p *v1alpha1.HardwareProfile, n *jobNeed) string {
	its := machineLabelsOf(p)
	for name, value := range n.nodeSelector {
		if own, found := its[name]; found && own != value {
			return fmt.Sprintf("machines with %s=%s, the workers ask for %s", name, own, value)
		}
	}
	for _, t := range n.tolerations {
		if !hasToleration(p, t) {
			return fmt.Sprintf("its profile does not tolerate the taint `%s`", t.Key)
		}
	}
	return ""
}

// hasToleration reports whether pods of a profile have a toleration; for how long does not matter.
func hasToleration(p *v1alpha1.HardwareProfile, t corev1.Toleration) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(own v1alpha1.Toleration) bool {
		return own.Key == t.Key && own.Value == t.Value && own.Effect == string(t.Effect) &&
			cmp.Or(own.Operator, "Equal") == cmp.Or(string(t.Operator), "Equal")
	})
}

// mayUse reports whether a tenant may use a runtime.
func mayUse(t *v1alpha1.Tenant, r *v1alpha1.MPIRuntime) bool {
	return t == nil || len(t.Spec.Runtimes) == 0 || slices.Contains(t.Spec.Runtimes, r.Metadata.Name)
}
