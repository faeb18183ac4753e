package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/mpi"
)

// SpecFile is a spec that a catalog lacks.
type SpecFile struct {
	// Path is where it belongs in a repository.
	Path string
	// Text is the spec as YAML.
	Text string
}

// commonMost is the most nodes that a proposed runtime admits, unless the job has more: as the runtimes of our catalog.
const commonMost = 8

// proposeRuntime makes the specs of a runtime that fits, and adds them to the catalog.
func (c *Catalog) proposeRuntime(n *jobNeed) (chosenRuntime, []SpecFile) {
	var specs []SpecFile
	p := c.smallestProfile(n)
	if p == nil {
		p = c.proposeProfile(n)
		c.profiles = append(c.profiles, p)
		specs = append(specs, profileSpecFile(p))
	}
	r := &v1alpha1.MPIRuntime{Metadata: v1alpha1.Metadata{Name: c.unusedName(proposedRuntimeName(n))}}
	r.Spec = v1alpha1.MPIRuntimeSpec{
		Description:  "What the MPIJob " + n.name + " ran with.",
		MPI:          n.mpi,
		Image:        n.image,
		Profile:      p.Metadata.Name,
		Nodes:        v1alpha1.Nodes{Default: n.nodes, Max: max(n.nodes, commonMost)},
		SlotsPerNode: intstr.FromInt32(n.slots),
		Launcher:     v1alpha1.Launcher{RunsRanks: n.runsRanks},
		Restarts:     n.restarts,
		Gang:         v1alpha1.Gang{Timeout: n.gangTimeout},
	}
	if cpu, found := n.requested(corev1.ResourceCPU); found && cpu.Sign() > 0 {
		r.Spec.ResourcesPerNode.CPU = &cpu
	}
	if memory, found := n.requested(corev1.ResourceMemory); found && memory.Sign() > 0 {
		r.Spec.ResourcesPerNode.Memory = &memory
	}
	if !n.runsRanks {
		r.Spec.Launcher.CPU, r.Spec.Launcher.Memory = n.launcher[corev1.ResourceCPU], n.launcher[corev1.ResourceMemory]
	}
	c.runtimes = append(c.runtimes, r)
	c.rememberProposed(r.Metadata.Name, p.Metadata.Name, len(specs) > 0)
	return chosenRuntime{runtime: r, profile: p}, append(specs, runtimeSpecFile(r))
}

func (c *Catalog) rememberProposed(runtime, profile string, newProfile bool) {
	if c.proposed == nil {
		c.proposed = map[string]bool{}
	}
	c.proposed[v1alpha1.MPIRuntimeKind+"/"+runtime] = true
	if newProfile {
		c.proposed[v1alpha1.HardwareProfileKind+"/"+profile] = true
	}
}

// smallestProfile is the profile with the least CPU whose machines would do, a draft only where there is no other.
func (c *Catalog) smallestProfile(n *jobNeed) *v1alpha1.HardwareProfile {
	var best *v1alpha1.HardwareProfile
	for _, p := range c.profiles {
		whole := &v1alpha1.MPIRuntime{}
		whole.Spec.SlotsPerNode = intstr.FromInt32(n.slots)
		if whyUnfitResources(whole, p, n) != "" || whyUnfitMachine(p, n) != "" || p.Spec.Accelerator != nil && n.slots > p.Spec.Accelerator.Count {
			continue
		}
		if best == nil || cmp.Or(trueFirst(!c.isProposedProfile(p), !c.isProposedProfile(best)), p.Spec.Node.CPU.Cmp(best.Spec.Node.CPU)) < 0 {
			best = p
		}
	}
	return best
}

// What a machine is taken to offer where the workers do not say what they take.
var (
	assumedCPU    = resource.MustParse("1")
	assumedMemory = resource.MustParse("2Gi")
)

func (c *Catalog) proposeProfile(n *jobNeed) *v1alpha1.HardwareProfile {
	p := &v1alpha1.HardwareProfile{Spec: v1alpha1.HardwareProfileSpec{
		Fabric:       v1alpha1.Fabric{Type: v1alpha1.Ethernet},
		Node:         v1alpha1.NodeAllocatable{CPU: assumedCPU, Memory: assumedMemory},
		NodeSelector: maps.Clone(n.nodeSelector),
	}}
	p.Spec.Node.CPU = n.largerOrAssumed(corev1.ResourceCPU, assumedCPU)
	p.Spec.Node.Memory = n.largerOrAssumed(corev1.ResourceMemory, assumedMemory)
	kind := "cpu"
	for _, name := range n.deviceNames() {
		amount := n.largerOrAssumed(name, resource.MustParse("1"))
		count := int32(min(max(amount.Value(), 1), 64)) //nolint:gosec // bounded
		switch text := string(name); {
		case strings.HasPrefix(text, "rdma/") || strings.HasPrefix(text, "openshift.io/"):
			p.Spec.Fabric = v1alpha1.Fabric{Type: v1alpha1.InfiniBand, Resource: text, Count: count}
		case strings.HasPrefix(text, "vpc.amazonaws.com/efa"):
			p.Spec.Fabric = v1alpha1.Fabric{Type: v1alpha1.EFA, Resource: text, Count: count}
		case strings.HasPrefix(text, corev1.ResourceHugePagesPrefix):
			p.Spec.HugePages = &v1alpha1.HugePages{Size: strings.TrimPrefix(text, corev1.ResourceHugePagesPrefix), Amount: amount}
		default:
			p.Spec.Accelerator = &v1alpha1.Accelerator{Resource: text, Count: count}
			kind = cmp.Or(decode.IntendedName(text), "device")
		}
	}
	for _, t := range n.tolerations {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1alpha1.Toleration{Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect)})
	}
	p.Metadata.Name = c.unusedName("mpijob-" + kind)
	return p
}

// largerOrAssumed is the larger of request and limit, or what is assumed.
func (n *jobNeed) largerOrAssumed(name corev1.ResourceName, assumed resource.Quantity) resource.Quantity {
	asked, found := n.requested(name)
	if limit, limited := n.limits[name]; limited && limit.Cmp(asked) > 0 {
		asked = limit
	}
	if !found || asked.Sign() <= 0 {
		return assumed
	}
	return asked
}

// longestOfJob leaves room for the library and a number: a name of a spec is a DNS label.
const longestOfJob = 45

// proposedRuntimeName names a runtime after its library and the job. A job's name may be anything, and this one becomes the name of a file.
func proposedRuntimeName(n *jobNeed) string {
	name := strings.ToLower(n.mpi.Implementation)
	if n.mpi.Implementation == string(mpi.OpenMPI) {
		name += n.major
	}
	job := decode.IntendedName(n.name[strings.LastIndex(n.name, "/")+1:])
	return name + "-" + strings.Trim(cmp.Or(job, "job")[:min(len(cmp.Or(job, "job")), longestOfJob)], "-")
}

// unusedName returns a name that no runtime and no profile has.
func (c *Catalog) unusedName(name string) string {
	taken := func(candidate string) bool {
		return c.findProfile(candidate) != nil || slices.ContainsFunc(c.runtimes, func(r *v1alpha1.MPIRuntime) bool { return r.Metadata.Name == candidate })
	}
	candidate := name
	for i := 2; taken(candidate); i++ {
		candidate = fmt.Sprintf("%s-%d", name, i)
	}
	return candidate
}

// specFields is a part of a spec. Empty parts are left out.
type specFields map[string]any

func (o specFields) setIf(key string, value any, said bool) specFields {
	if said {
		o[key] = value
	}
	return o
}

func runtimeSpecFile(r *v1alpha1.MPIRuntime) SpecFile {
	own := specFields{}
	if cpu := r.Spec.ResourcesPerNode.CPU; cpu != nil {
		own["cpu"] = cpu.String()
	}
	if memory := r.Spec.ResourcesPerNode.Memory; memory != nil {
		own["memory"] = memory.String()
	}
	launcher := specFields{}
	launcher.setIf("runsRanks", true, r.Spec.Launcher.RunsRanks)
	launcher.setIf("cpu", r.Spec.Launcher.CPU.String(), !r.Spec.Launcher.CPU.IsZero())
	launcher.setIf("memory", r.Spec.Launcher.Memory.String(), !r.Spec.Launcher.Memory.IsZero())
	body := specFields{
		"description":  r.Spec.Description,
		"mpi":          specFields{"implementation": r.Spec.MPI.Implementation, "version": r.Spec.MPI.Version},
		"image":        r.Spec.Image,
		"profile":      r.Spec.Profile,
		"nodes":        specFields{"default": r.Spec.Nodes.Default, "max": r.Spec.Nodes.Max},
		"slotsPerNode": r.Spec.SlotsPerNode.IntVal,
	}
	body.setIf("resourcesPerNode", own, len(own) > 0)
	body.setIf("launcher", launcher, len(launcher) > 0)
	body.setIf("restarts", r.Spec.Restarts, r.Spec.Restarts > 0)
	body.setIf("gang", specFields{"timeout": r.Spec.Gang.Timeout}, r.Spec.Gang.Timeout != "")
	return specFile("catalog/runtimes/", v1alpha1.MPIRuntimeKind, r.Metadata.Name, body)
}

func profileSpecFile(p *v1alpha1.HardwareProfile) SpecFile {
	fabric := specFields{"type": string(p.Spec.Fabric.Type)}
	fabric.setIf("resource", p.Spec.Fabric.Resource, p.Spec.Fabric.Resource != "")
	fabric.setIf("count", p.Spec.Fabric.Count, p.Spec.Fabric.Count > 1)
	body := specFields{
		"fabric": fabric,
		"node":   specFields{"cpu": p.Spec.Node.CPU.String(), "memory": p.Spec.Node.Memory.String()},
	}
	if a := p.Spec.Accelerator; a != nil {
		body["accelerator"] = specFields{"resource": a.Resource, "count": a.Count}
	}
	if h := p.Spec.HugePages; h != nil {
		body["hugePages"] = specFields{"size": h.Size, "amount": h.Amount.String()}
	}
	body.setIf("nodeSelector", p.Spec.NodeSelector, len(p.Spec.NodeSelector) > 0)
	tolerations := make([]any, 0, len(p.Spec.Tolerations))
	for _, t := range p.Spec.Tolerations {
		one := specFields{}
		one.setIf("key", t.Key, t.Key != "").setIf("operator", t.Operator, t.Operator != "").setIf("value", t.Value, t.Value != "").setIf("effect", t.Effect, t.Effect != "")
		tolerations = append(tolerations, one)
	}
	body.setIf("tolerations", tolerations, len(tolerations) > 0)
	return specFile("catalog/profiles/", v1alpha1.HardwareProfileKind, p.Metadata.Name, body)
}

func specFile(folder, kind, name string, body specFields) SpecFile {
	return SpecFile{
		Path: folder + name + ".yaml",
		Text: toYAML(specFields{"apiVersion": v1alpha1.APIVersion, "kind": kind, "metadata": specFields{"name": name}, "spec": body}),
	}
}
