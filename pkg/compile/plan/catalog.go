package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
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

// profiles returns the sound profiles by name.
func profiles(b *resolve.Bundle) map[string]*Profile {
	result := map[string]*Profile{}
	for _, d := range b.Profiles.All() {
		if d.Sound {
			result[d.Name] = profile(d)
		}
	}
	return result
}

// runtimes returns all sound runtimes of the catalog, retired ones and those for other clusters included.
func runtimes(b *resolve.Bundle, c *Cluster, profiles map[string]*Profile) []*Runtime {
	var result []*Runtime
	for _, d := range b.Runtimes.All() {
		p := profiles[d.Spec.Spec.Profile]
		if !d.Sound || p == nil {
			c.Partial = true
			continue
		}
		result = append(result, runtime(d, p, &c.Images))
	}
	return result
}

func profile(d *resolve.Definition[v1alpha1.HardwareProfile]) *Profile {
	spec := &d.Spec.Spec
	p := &Profile{
		Name:             d.Name,
		At:               d.At(&d.Spec.Metadata.Name),
		Fabric:           fabric(d.Document, &spec.Fabric),
		CPU:              writtenValue(d.Document, &spec.Node.CPU),
		Memory:           writtenValue(d.Document, &spec.Node.Memory),
		NodeSelector:     entries(d.Document, &spec.NodeSelector),
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
	return unique(names)
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

func variables(d *decode.Document, list []v1alpha1.Variable) []Variable {
	var result []Variable
	for i := range list {
		v := Variable{
			Name: writtenValue(d, &list[i].Name), Value: orDefault(d, &list[i].Value, "a variable without a value is empty"), Why: list[i].Reason,
		}
		if v.Why != "" {
			v.Value.Why = v.Why
		}
		result = append(result, v)
	}
	return result
}

func runtime(d *resolve.Definition[v1alpha1.MPIRuntime], p *Profile, sources *Images) *Runtime {
	spec := &d.Spec.Spec
	r := &Runtime{
		Name:              writtenValue(d.Document, &d.Spec.Metadata.Name),
		Description:       writtenValue(d.Document, &spec.Description),
		Framework:         derivedValue(d.Document, &spec.Framework, frameworkLabels[spec.Framework], "a plain MPI program"),
		Implementation:    derivedValue(d.Document, &spec.MPI.Implementation, mpi.Implementation(spec.MPI.Implementation), ""),
		Version:           writtenValue(d.Document, &spec.MPI.Version),
		Image:             sources.resolve(writtenValue(d.Document, &spec.Image)),
		Profile:           p,
		ProfileName:       writtenValue(d.Document, &spec.Profile),
		DefaultNodes:      writtenValue(d.Document, &spec.Nodes.Default),
		MinNodes:          orDefault(d.Document, &spec.Nodes.Min, "the smallest job has one node"),
		MaxNodes:          orDefault(d.Document, &spec.Nodes.Max, "as far as upstream's users report success"),
		Slots:             slots(d.Document, &spec.SlotsPerNode, p),
		CPU:               share(d.Document, &spec.ResourcesPerNode.CPU, p.CPU),
		Memory:            share(d.Document, &spec.ResourcesPerNode.Memory, p.Memory),
		LauncherCPU:       orDefault(d.Document, &spec.Launcher.CPU, "enough for mpirun in a launcher without ranks"),
		LauncherMemory:    orDefault(d.Document, &spec.Launcher.Memory, "enough for mpirun in a launcher without ranks"),
		LauncherRunsRanks: orDefault(d.Document, &spec.Launcher.RunsRanks, "the launcher is a small pod beside the nodes"),
		Env:               variables(d.Document, spec.Env),
		Volumes:           volumes(d.Document, spec.Volumes),
		Gang:              gang(d.Document, &spec.Gang),
		Restarts:          orDefault(d.Document, &spec.Restarts, "a job that lost a machine is not started again"),
		MaxDuration:       derivedValue(d.Document, &spec.MaxDuration, duration(spec.MaxDuration), "a job may run for ever"),
		Deprecation:       deprecation(d.Document, spec.Deprecation),
		Default:           orDefault(d.Document, &spec.Default, "tools offer another runtime first"),
		Waivers:           waivers(d.Document, spec.Waivers),
		Deprecated:        derivedValue(d.Document, &spec.Lifecycle, spec.Lifecycle == v1alpha1.Deprecated, "new jobs may use the runtime"),
		Retired:           spec.Lifecycle == v1alpha1.Retired,
		Tenants:           spec.Tenants,
	}
	if r.Framework.Kind == origin.Written {
		r.Framework.Kind, r.Framework.Why = origin.Derived, "the name that Kubeflow Trainer has for the framework"
	}
	if r.DefaultNodes.V == 0 {
		r.DefaultNodes = inheritedValue(r.MinNodes, r.MinNodes.V, "a job that asks for nothing gets the least number of nodes")
	}
	if r.LauncherRunsRanks.V {
		r.LauncherCPU, r.LauncherMemory = launcherShare(r.CPU, r.LauncherCPU), launcherShare(r.Memory, r.LauncherMemory)
	}
	return r
}

// share is what one node of a job takes of a machine: what the runtime writes, over what the profile offers.
func share(d *decode.Document, own **resource.Quantity, offer Value[resource.Quantity]) Value[resource.Quantity] {
	if *own == nil {
		return inheritedValue(offer, offer.V, "a runtime that asks for nothing takes what the profile offers")
	}
	return Value[resource.Quantity]{V: **own, Origin: origin.Origin{At: d.At(own)}.Over(offer.V.String(), &offer.Origin)}
}

// slots is the number of ranks per node: what the runtime writes, or one for each accelerator of the profile.
func slots(d *decode.Document, own *intstr.IntOrString, p *Profile) Value[int32] {
	if own.Type == intstr.Int {
		return derivedValue(d, own, own.IntVal, "one rank per node")
	}
	return Value[int32]{V: p.Accelerators.V, Origin: origin.Origin{
		At: d.At(own), Kind: origin.Derived, Why: "`auto` is one rank for each accelerator of the profile", Also: []source.Span{p.Accelerators.At},
	}}
}

// launcherShare is what a launcher with ranks takes: what a node takes, whatever is written for a launcher without.
func launcherShare(node, launcher Value[resource.Quantity]) Value[resource.Quantity] {
	result := inheritedValue(node, node.V, "a launcher that runs ranks takes what a node takes")
	result.Origin = result.Over(launcher.V.String(), &launcher.Origin)
	return result
}

func volumes(d *decode.Document, list []v1alpha1.Volume) []Volume {
	var result []Volume
	for i := range list {
		v := &list[i]
		result = append(result, Volume{
			Name: writtenValue(d, &v.Name), MountPath: writtenValue(d, &v.MountPath), Claim: writtenValue(d, &v.Claim),
			Scratch: writtenValue(d, &v.Scratch), ReadOnly: orDefault(d, &v.ReadOnly, "jobs may write"),
		})
	}
	return result
}

func gang(d *decode.Document, spec *v1alpha1.Gang) Gang {
	return Gang{
		Scheduler: derivedValue(d, &spec.Scheduler, string(spec.Scheduler), "pods start as they fit"),
		Timeout:   derivedValue(d, &spec.Timeout, duration(spec.Timeout), "long enough for images to be pulled"),
		Priority:  writtenValue(d, &spec.Priority),
		Within:    writtenValue(d, &spec.Within),
	}
}

func deprecation(d *decode.Document, spec *v1alpha1.Deprecation) *Deprecation {
	if spec == nil {
		return nil
	}
	return &Deprecation{Successor: writtenValue(d, &spec.Successor), RetireOn: writtenValue(d, &spec.RetireOn), Reason: writtenValue(d, &spec.Reason)}
}
