package scaffold

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
)

// Written is what somebody wrote on the command line, by flag.
type Written map[string][]string

// deriveValues returns the values of a new spec: what was written, and what follows from it and from the repository.
func deriveValues(kind jsonschema.Kind, name string, written Written, known *Existing) (Values, error) {
	values := Values{}
	for _, input := range Inputs(kind) {
		texts, found := written[input.Flag]
		if !found && input.Default != "" {
			texts, found = []string{input.Default}, true
		}
		if !found {
			continue
		}
		value, err := input.Value(kind, texts)
		if err != nil {
			return nil, err
		}
		if input.Path != "" {
			values[input.Path] = value
		}
	}
	switch kind.Name {
	case v1alpha1.MPIRuntimeKind:
		values.addSlots(known.hasAccelerators(strings.Join(written["profile"], "")))
	case v1alpha1.ClusterKind:
		values.addDerived("spec.components", controllerComponent(written))
	case v1alpha1.TenantKind:
		values.addDerived("spec.namespaces", ListValue([]string{name}))
		values.addQuota(known.largestJob(name, written["clusters"], written["runtimes"]))
		values.addDerived("spec.retention.finishedJobs", BareValue("168h").Because("Finished jobs count in the quota."))
	}
	return values, nil
}

// addDerived sets a value that nobody wrote.
func (v Values) addDerived(path string, value Value) {
	if _, found := v[path]; !found {
		v[path] = value
	}
}

func (v Values) addSlots(accelerated bool) {
	if accelerated {
		v.addDerived("spec.slotsPerNode", TextValue("auto"))
	}
}

// The quota of a tenant without runtimes, and the least number of pods and jobs.
const (
	leastCPU    = "8"
	leastMemory = "16Gi"
	leastPods   = 40
	leastJobs   = 20
)

const gibibyte = 1 << 30

// addQuota gives room for one job of default size of whatever runtime is largest: a quota that is too small is found by the first job, one
// that is too large by the neighbours.
func (v Values) addQuota(job corev1.ResourceList) {
	const why = "One job of default size of the largest runtime fits, and not less than %s."
	cpu, memory := resource.MustParse(leastCPU), resource.MustParse(leastMemory)
	if wanted := job[corev1.ResourceCPU]; wanted.Cmp(cpu) > 0 {
		cpu = *resource.NewQuantity(roundUp(wanted, 1), resource.DecimalSI)
	}
	if wanted := job[corev1.ResourceMemory]; wanted.Cmp(memory) > 0 {
		memory = *resource.NewQuantity(roundUp(wanted, gibibyte), resource.BinarySI)
	}
	pods := job[corev1.ResourcePods]
	v.addDerived("spec.quota.cpu", BareValue(cpu.String()).Because(why, leastCPU))
	v.addDerived("spec.quota.memory", BareValue(memory.String()).Because(why, leastMemory))
	v.addDerived("spec.quota.pods", BareValue(strconv.FormatInt(max(leastPods, pods.Value()), 10)))
	v.addDerived("spec.quota.jobs", BareValue(strconv.Itoa(leastJobs)))
	if devices := acceleratorsOf(job); len(devices) > 0 {
		v.addDerived("spec.quota.accelerators", AmountsValue(devices).Because("One job of default size of the largest runtime fits."))
	}
}

// acceleratorsOf are the extended resources of a job: their names have a domain.
func acceleratorsOf(job corev1.ResourceList) map[string]string {
	devices := map[string]string{}
	for name, amount := range job {
		if strings.Contains(string(name), "/") {
			devices[string(name)] = amount.String()
		}
	}
	return devices
}
