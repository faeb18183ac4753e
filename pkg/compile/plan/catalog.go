package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/mpi"
)

// frameworkLabels are the values of upstream's framework label. Those of upstream's own runtimes are used where they
// exist (deepspeed, torch), because the Kubeflow SDK and dashboards know them.
var frameworkLabels = map[v1alpha1.Framework]string{
	v1alpha1.FrameworkMPI:        "mpi",
	v1alpha1.FrameworkHorovod:    "horovod",
	v1alpha1.FrameworkDeepSpeed:  "deepspeed",
	v1alpha1.FrameworkPyTorch:    "torch",
	v1alpha1.FrameworkTensorFlow: "tensorflow",
}

// runtimes returns all sound runtimes of the catalog, retired ones and those for other clusters included.
func runtimes(b *resolve.Bundle, c *Cluster) []*Runtime {
	profiles := map[string]*Profile{}
	for _, d := range b.Profiles.All() {
		if d.Sound {
			profiles[d.Name] = profile(d)
		}
	}
	var result []*Runtime
	for _, d := range b.Runtimes.All() {
		p := profiles[d.Spec.Spec.Profile]
		if !d.Sound || p == nil {
			c.Partial = true
			continue
		}
		result = append(result, runtime(d, p))
	}
	return result
}

func profile(d *resolve.Definition[v1alpha1.HardwareProfile]) *Profile {
	spec := &d.Spec.Spec
	p := &Profile{
		Name:         d.Name,
		Ethernet:     derived(d.Document, &spec.Fabric.Type, spec.Fabric.Type == v1alpha1.Ethernet),
		Fabric:       string(spec.Fabric.Type),
		Interface:    spec.Fabric.Interface,
		CPU:          from(d.Document, &spec.Node.CPU),
		Memory:       from(d.Document, &spec.Node.Memory),
		NodeSelector: spec.NodeSelector,
		Tolerations:  tolerations(spec.Tolerations),
		SharedMemory: spec.SharedMemory,
		Env:          variables(d.Document, spec.Env),
	}
	if spec.Accelerator != nil {
		p.Accelerator, p.Accelerators = spec.Accelerator.Resource, spec.Accelerator.Count
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
	return unique(names)
}

func tolerations(written []v1alpha1.Toleration) []corev1.Toleration {
	var result []corev1.Toleration
	for _, t := range written {
		result = append(result, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect),
		})
	}
	return result
}

func variables(d *decode.Document, written []v1alpha1.Variable) []Variable {
	var result []Variable
	for i := range written {
		result = append(result, Variable{Name: from(d, &written[i].Name), Value: written[i].Value, Why: written[i].Reason})
	}
	return result
}

func runtime(d *resolve.Definition[v1alpha1.MPIRuntime], p *Profile) *Runtime {
	spec := &d.Spec.Spec
	r := &Runtime{
		Name:              from(d.Document, &d.Spec.Metadata.Name),
		Description:       spec.Description,
		Framework:         frameworkLabels[spec.Framework],
		Implementation:    mpi.Implementation(spec.MPI.Implementation),
		Version:           from(d.Document, &spec.MPI.Version),
		Image:             from(d.Document, &spec.Image),
		Profile:           p,
		DefaultNodes:      from(d.Document, &spec.Nodes.Default),
		MinNodes:          from(d.Document, &spec.Nodes.Min),
		MaxNodes:          from(d.Document, &spec.Nodes.Max),
		Slots:             derived(d.Document, &spec.SlotsPerNode, slots(spec.SlotsPerNode, p)),
		CPU:               derived(d.Document, &spec.ResourcesPerNode.CPU, p.CPU.V),
		Memory:            derived(d.Document, &spec.ResourcesPerNode.Memory, p.Memory.V),
		LauncherCPU:       from(d.Document, &spec.Launcher.CPU),
		LauncherMemory:    from(d.Document, &spec.Launcher.Memory),
		LauncherRunsRanks: spec.Launcher.RunsRanks,
		Env:               variables(d.Document, spec.Env),
		Deprecated:        spec.Lifecycle == v1alpha1.Deprecated,
		Retired:           spec.Lifecycle == v1alpha1.Retired,
		Tenants:           spec.Tenants,
	}
	if r.DefaultNodes.V == 0 {
		r.DefaultNodes = r.MinNodes
	}
	if spec.ResourcesPerNode.CPU != nil {
		r.CPU.V = *spec.ResourcesPerNode.CPU
	}
	if spec.ResourcesPerNode.Memory != nil {
		r.Memory.V = *spec.ResourcesPerNode.Memory
	}
	return r
}

func slots(written intstr.IntOrString, p *Profile) int32 {
	if written.Type == intstr.String {
		return p.Accelerators
	}
	return written.IntVal
}
