package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Profile is what a machine offers.
type Profile struct {
	Name        string
	At          source.Span
	Fabric      Fabric
	CPU, Memory Value[resource.Quantity]
	// Accelerator is the extended resource, or "".
	Accelerator  Value[string]
	Accelerators Value[int32]
	// Product is the accelerator's name in node labels, or "".
	Product Value[string]
	// HugePages is nil where none are reserved.
	HugePages *HugePages
	// Topology is the widest level first.
	Topology []TopologyLevel
	// NodeSelector is sorted by name.
	NodeSelector []Named[string]
	Tolerations  []Value[corev1.Toleration]
	// TolerationFields has the origins of what is in each toleration, by key.
	TolerationFields []map[string]*origin.Origin
	// SharedMemory is nil for what the container runtime gives.
	SharedMemory Value[*resource.Quantity]
	Env          []Variable
	Waivers      []Waiver
}

// planProfiles returns the sound profiles by name.
func planProfiles(b *resolve.Bundle) map[string]*Profile {
	result := map[string]*Profile{}
	for _, d := range b.Profiles.All() {
		if d.Valid {
			result[d.Name] = planProfile(d)
		}
	}
	return result
}

func planProfile(d *resolve.Definition[v1alpha1.HardwareProfile]) *Profile {
	spec := &d.Spec.Spec
	p := &Profile{
		Name:             d.Name,
		At:               d.At(&d.Spec.Metadata.Name),
		Fabric:           fabric(d.Document, &spec.Fabric),
		CPU:              writtenValue(d.Document, &spec.Node.CPU),
		Memory:           writtenValue(d.Document, &spec.Node.Memory),
		NodeSelector:     namedEntries(d.Document, &spec.NodeSelector),
		Tolerations:      tolerations(d.Document, spec.Tolerations),
		TolerationFields: tolerationFields(d.Document, spec.Tolerations),
		SharedMemory:     writtenValue(d.Document, &spec.SharedMemory),
		Env:              variables(d.Document, spec.Env),
		HugePages:        hugePages(d.Document, spec.HugePages),
		Topology:         topology(d.Document, spec.Topology),
		Waivers:          waivers(d.Document, spec.Waivers),
	}
	if a := spec.Accelerator; a != nil {
		p.Accelerator, p.Accelerators = writtenValue(d.Document, &a.Resource), writtenValue(d.Document, &a.Count)
		p.Product = writtenValue(d.Document, &a.Product)
	}
	return p
}

// accelerators returns the extended resources of the profiles of a cluster.
func accelerators(b *resolve.Bundle, capacity []v1alpha1.Capacity) []string {
	var names []string
	for _, d := range b.Profiles.All() {
		if a := d.Spec.Spec.Accelerator; a != nil && hasProfile(capacity, d.Name) {
			names = append(names, a.Resource)
		}
	}
	return uniqueNames(names)
}

func tolerations(d *decode.Document, list []v1alpha1.Toleration) []Value[corev1.Toleration] {
	var result []Value[corev1.Toleration]
	for i := range list {
		t := &list[i]
		result = append(result, Value[corev1.Toleration]{Origin: origin.Origin{At: d.At(t)}, V: corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect),
		}})
	}
	return result
}

func tolerationFields(d *decode.Document, list []v1alpha1.Toleration) []map[string]*origin.Origin {
	result := make([]map[string]*origin.Origin, len(list))
	for i := range list {
		t := &list[i]
		result[i] = map[string]*origin.Origin{}
		for key, field := range map[string]any{"key": &t.Key, "operator": &t.Operator, "value": &t.Value, "effect": &t.Effect} {
			from := d.Origin(field)
			if !d.Written(field) {
				from = origin.Origin{At: d.At(t), Kind: origin.Default, Why: "as Kubernetes has it for a toleration without `" + key + "`"}
			}
			result[i][key] = &from
		}
	}
	return result
}
