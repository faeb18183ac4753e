package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Fabric is the network that ranks use.
type Fabric struct {
	Kind Value[mpi.Fabric]
	// Interface carries TCP.
	Interface Value[string]
	// Resource is the extended resource of the device plugin, or ""; each node takes Count of it.
	Resource Value[string]
	Count    Value[int32]
	// Networks are Multus networks, in the order of their interfaces. HCAs are in the order of the spec.
	Networks, HCAs []Value[string]
	GIDIndex       Value[*int32]
	GPUDirect      Value[bool]
	// LockMemory says that pods need the capability IPC_LOCK.
	LockMemory Value[bool]
}

// HugePages is what one node takes of pages of one size.
type HugePages struct {
	Size   Value[string]
	Amount Value[resource.Quantity]
}

// TopologyLevel is a group of machines.
type TopologyLevel struct {
	Name, NodeLabel Value[string]
}

func fabric(d *decode.Document, spec *v1alpha1.Fabric) Fabric {
	kind := mpi.Fabric(spec.Type)
	return Fabric{
		Kind:      derivedValue(d, &spec.Type, kind, ""),
		Interface: orDefault(d, &spec.Interface, "the first interface of a pod"),
		Resource:  writtenValue(d, &spec.Resource),
		Count:     orDefault(d, &spec.Count, "one device of the fabric for each node"),
		Networks:  orderedValues(d, spec.Networks),
		HCAs:      orderedValues(d, spec.HCAs),
		GIDIndex:  writtenValue(d, &spec.GIDIndex),
		GPUDirect: orDefault(d, &spec.GPUDirect, "adapters copy through the memory of the machine"),
		LockMemory: derivedValue(d, &spec.LockedMemory, kind.RDMA() && spec.LockedMemory == v1alpha1.LockedByCapability,
			"an RDMA adapter needs memory that stays where it is, and most machines bound how much a process may pin"),
	}
}

// Network is what ranks know of the fabric.
func (p *Profile) Network() mpi.Network {
	n := mpi.Network{
		Fabric:       p.Fabric.Kind.V,
		Interface:    p.Fabric.Interface.V,
		GIDIndex:     p.Fabric.GIDIndex.V,
		GPUDirect:    p.Fabric.GPUDirect.V,
		Accelerators: p.Accelerators.V > 0,
	}
	for _, hca := range p.Fabric.HCAs {
		n.HCAs = append(n.HCAs, hca.V)
	}
	return n
}

// The accelerators for which machines tell their product in a label, which NVIDIA's GPU feature discovery sets
// (https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery).
const (
	productResource = "nvidia.com/gpu"
	productLabel    = "nvidia.com/gpu.product"
)

// NodeLabels returns the labels by which machines of the profile are found, sorted: those of its selector, and the product of its
// accelerators unless the selector names one itself.
func (p *Profile) NodeLabels() []Named[string] {
	named := func(l Named[string]) bool { return l.Name == productLabel }
	if p.Accelerator.V != productResource || p.Product.V == "" || slices.ContainsFunc(p.NodeSelector, named) {
		return p.NodeSelector
	}
	const why = "a job for one product must not land on machines with another"
	return sortedByName(append(slices.Clone(p.NodeSelector), Named[string]{Name: productLabel, Value: inheritedValue(p.Product, p.Product.V, why)}))
}

// Level returns a level of the topology, or nil.
func (p *Profile) Level(name string) *TopologyLevel {
	for i := range p.Topology {
		if p.Topology[i].Name.V == name {
			return &p.Topology[i]
		}
	}
	return nil
}

func topology(d *decode.Document, levels []v1alpha1.TopologyLevel) []TopologyLevel {
	var result []TopologyLevel
	for i := range levels {
		result = append(result, TopologyLevel{Name: writtenValue(d, &levels[i].Name), NodeLabel: writtenValue(d, &levels[i].NodeLabel)})
	}
	return result
}

func hugePages(d *decode.Document, spec *v1alpha1.HugePages) *HugePages {
	if spec == nil {
		return nil
	}
	return &HugePages{Size: writtenValue(d, &spec.Size), Amount: writtenValue(d, &spec.Amount)}
}

// orderedValues are list items whose order means something.
func orderedValues(d *decode.Document, list []string) []Value[string] {
	var result []Value[string]
	for i := range list {
		result = append(result, writtenValue(d, &list[i]))
	}
	return result
}
