package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Runtime is a catalog entry.
type Runtime struct {
	Name Value[string]
	// Description and Documentation may be "".
	Description, Documentation Value[string]
	// Framework is the value of upstream's framework label.
	Framework      Value[string]
	Implementation Value[mpi.Implementation]
	Version        Value[string]
	Image          Image
	// SecretEnv names a Secret whose keys become environment variables, or "".
	SecretEnv Value[string]
	Profile   *Profile
	// ProfileName is the profile's name where the runtime writes it.
	ProfileName Value[string]
	// DefaultNodes is what a TrainJob gets that asks for nothing; MinNodes <= DefaultNodes <= MaxNodes.
	DefaultNodes, MinNodes, MaxNodes Value[int32]
	// Slots is the number of ranks per node; 0 for `auto` without accelerators.
	Slots Value[int32]
	// CPU and Memory are those of one node.
	CPU, Memory                 Value[resource.Quantity]
	LauncherCPU, LauncherMemory Value[resource.Quantity]
	LauncherRunsRanks           Value[bool]
	Env                         []Variable
	Volumes                     []Volume
	Gang                        Gang
	// Restarts is how often a job is started again after a fault of the infrastructure.
	Restarts Value[int32]
	// MaxDuration is 0 for no end.
	MaxDuration Value[time.Duration]
	Deprecated  Value[bool]
	Retired     bool
	// Deprecation is nil where the spec says nothing about the end.
	Deprecation *Deprecation
	// Tenants may use the runtime; empty means all.
	Tenants []string
	// Default says that tools offer the runtime first.
	Default Value[bool]
	Waivers []Waiver
}

// What schedules a gang.
const (
	GangNone         = string(v1alpha1.GangNone)
	GangKueue        = string(v1alpha1.GangKueue)
	GangCoscheduling = string(v1alpha1.GangCoscheduling)
	GangVolcano      = string(v1alpha1.GangVolcano)
)

// Gang is how the pods of a job are scheduled together.
type Gang struct {
	// Scheduler is one of the names above.
	Scheduler Value[string]
	Timeout   Value[time.Duration]
	// Priority and Within are "" where the spec says nothing.
	Priority, Within Value[string]
}

// Volume is a folder in the pods of a job.
type Volume struct {
	Name, MountPath Value[string]
	// Claim is "" and Scratch nil where the other one says what is behind the folder.
	Claim    Value[string]
	Scratch  Value[*resource.Quantity]
	ReadOnly Value[bool]
}

// Deprecation is the end of a runtime.
type Deprecation struct {
	// Successor, RetireOn (a day as 2027-03-31) and Reason may be "".
	Successor, RetireOn, Reason Value[string]
}

// frameworkLabels are the values of upstream's framework label. Those of upstream's own runtimes are used where they
// exist (deepspeed, torch), because the Kubeflow SDK and dashboards know them.
var frameworkLabels = map[v1alpha1.Framework]string{
	v1alpha1.FrameworkMPI:        "mpi",
	v1alpha1.FrameworkHorovod:    "horovod",
	v1alpha1.FrameworkDeepSpeed:  "deepspeed",
	v1alpha1.FrameworkPyTorch:    "torch",
	v1alpha1.FrameworkTensorFlow: "tensorflow",
}

// planRuntimes returns all sound runtimes of the catalog, retired ones and those for other clusters included.
func planRuntimes(b *resolve.Bundle, c *Cluster, profiles map[string]*Profile) []*Runtime {
	var result []*Runtime
	for _, d := range b.Runtimes.All() {
		p := profiles[d.Spec.Spec.Profile]
		if !d.Valid || p == nil {
			c.Partial = true
			continue
		}
		result = append(result, planRuntime(d, p, &c.Images))
	}
	return result
}

func planRuntime(d *resolve.Definition[v1alpha1.MPIRuntime], p *Profile, sources *ImageRewrites) *Runtime {
	spec := &d.Spec.Spec
	r := &Runtime{
		Name:              writtenValue(d.Document, &d.Spec.Metadata.Name),
		Description:       writtenValue(d.Document, &spec.Description),
		Documentation:     writtenValue(d.Document, &spec.Documentation),
		Framework:         derivedValue(d.Document, &spec.Framework, frameworkLabels[spec.Framework], "a plain MPI program"),
		Implementation:    derivedValue(d.Document, &spec.MPI.Implementation, mpi.Implementation(spec.MPI.Implementation), ""),
		Version:           writtenValue(d.Document, &spec.MPI.Version),
		Image:             sources.pulledImageOf(writtenValue(d.Document, &spec.Image)),
		Profile:           p,
		ProfileName:       writtenValue(d.Document, &spec.Profile),
		DefaultNodes:      writtenValue(d.Document, &spec.Nodes.Default),
		MinNodes:          orDefault(d.Document, &spec.Nodes.Min, "the smallest job has one node"),
		MaxNodes:          orDefault(d.Document, &spec.Nodes.Max, "as far as upstream's users report success"),
		Slots:             slots(d.Document, &spec.SlotsPerNode, p),
		CPU:               shareOfMachine(d.Document, &spec.ResourcesPerNode.CPU, p.CPU),
		Memory:            shareOfMachine(d.Document, &spec.ResourcesPerNode.Memory, p.Memory),
		LauncherCPU:       orDefault(d.Document, &spec.Launcher.CPU, "enough for mpirun in a launcher without ranks"),
		LauncherMemory:    orDefault(d.Document, &spec.Launcher.Memory, "enough for mpirun in a launcher without ranks"),
		LauncherRunsRanks: orDefault(d.Document, &spec.Launcher.RunsRanks, "the launcher is a small pod beside the nodes"),
		Env:               variables(d.Document, spec.Env),
		Volumes:           volumes(d.Document, spec.Volumes),
		Gang:              gang(d.Document, &spec.Gang),
		Restarts:          orDefault(d.Document, &spec.Restarts, "a job that lost a machine is not started again"),
		MaxDuration:       derivedValue(d.Document, &spec.MaxDuration, parseDuration(spec.MaxDuration), "a job may run forever"),
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

// shareOfMachine is what one node of a job takes of a machine: what the runtime writes, over what the profile offers.
func shareOfMachine(d *decode.Document, own **resource.Quantity, offer Value[resource.Quantity]) Value[resource.Quantity] {
	if *own == nil {
		return inheritedValue(offer, offer.V, "a runtime that asks for nothing takes what the profile offers")
	}
	return Value[resource.Quantity]{V: **own, Origin: origin.Origin{At: d.At(own)}.Overriding(offer.V.String(), &offer.Origin)}
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
	result.Origin = result.Overriding(launcher.V.String(), &launcher.Origin)
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
		Timeout:   derivedValue(d, &spec.Timeout, parseDuration(spec.Timeout), "long enough for images to be pulled"),
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
