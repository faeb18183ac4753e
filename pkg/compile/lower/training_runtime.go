package lower

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// What a runtime carries besides its template, for people and their tools. What enforces the bounds
// is the admission policy for TrainJobs, which has them as constants.
const (
	profileLabel = "lockstep.dev/profile"
	// defaultLabel is on the runtime that tools offer first; a label, so that it can be asked for.
	defaultLabel = "lockstep.dev/default"
)

// RuntimeObjects returns the runtimes of a cluster, sorted.
func RuntimeObjects(c *plan.Cluster, list *diag.List) []object.Object {
	var objects []object.Object
	for _, r := range c.Runtimes {
		root, err := trainingRuntime(c, r, func(p template.Runtime) (any, error) { return p.Build() })
		if err != nil {
			list.Errorf(diag.RenderFails, r.Name.At, "%v", err)
			continue
		}
		place := object.Place{Folder: RuntimeFolder, File: RuntimeFile, Origin: r.Name.At}
		objects = append(objects, object.New(root, place, runtimeRule))
	}
	object.Sort(objects)
	return objects
}

func trainingRuntime(c *plan.Cluster, r *plan.Runtime, build func(template.Runtime) (any, error)) (object.Node, error) {
	portable := portableRuntime(c, r)
	compiled, err := build(portable)
	if err != nil {
		return object.Node{}, fmt.Errorf("build the runtime: %w", err)
	}
	origins, err := runtimeOrigins(c, r, portable.Network)
	if err != nil {
		return object.Node{}, err
	}
	return object.FromTyped(compiled, origins)
}

func portableRuntime(c *plan.Cluster, r *plan.Runtime) template.Runtime {
	return template.Runtime{
		Name:              r.Name.V,
		Labels:            runtimeLabels(c, r),
		Annotations:       runtimeAnnotations(c, r),
		PodLabels:         podLabels(r),
		Framework:         r.Framework.V,
		Implementation:    r.Implementation.V,
		Version:           r.Version.V,
		Image:             r.Image.V,
		World:             r.World(r.DefaultNodes.V),
		NodeResources:     r.NodeResources(),
		LauncherResources: r.LauncherResources(),
		CPULimit:          cpuLimit(c, r),
		Network:           r.Profile.Network(),
		Env:               append(mpiVariables(r.Profile.Env), mpiVariables(r.Env)...),
		Agent:             template.Agent{Image: c.AgentImage.V, ImageVolume: c.ImageVolumes.V},
		UnderTrainer:      !c.Bundled.V,
		OneLauncher:       countsLaunchers(c),
		User:              podUser(c),
		NodeSelector:      nodeSelector(r.Profile),
		Tolerations:       podTolerations(r.Profile),
		LauncherWithNodes: c.Queueing != nil,
		SharedMemory:      r.Profile.SharedMemory.V,
		LockMemory:        r.Profile.Fabric.LockMemory.V,
		Attachments:       networkAttachments(r.Profile),
		Volumes:           templateVolumes(r),
		Gang:              gangOf(r),
		PriorityClass:     priorityClass(c, r),
		TopologyLabel:     topologyLabel(c, r),
		Deadline:          r.MaxDuration.V,
		ServiceAccount:    serviceAccountOf(c, r),
		SecretEnv:         r.SecretEnv.V,
	}
}

// countsLaunchers reports whether somebody on the cluster reads numNodes as the number of launchers: Kubeflow Trainer, or Kueue, which asks
// Trainer's library what a TrainJob takes.
func countsLaunchers(c *plan.Cluster) bool { return !c.Bundled.V || c.Queueing != nil }

// cpuLimit is none where no policy bounds what a TrainJob asks for, and the LimitRange of a tenant has to.
func cpuLimit(c *plan.Cluster, r *plan.Runtime) resource.Quantity {
	if !c.AdmissionPolicies() {
		return resource.Quantity{}
	}
	return r.CPULimit().V
}

func runtimeLabels(c *plan.Cluster, r *plan.Runtime) map[string]string {
	labels := map[string]string{managedByLabel: managedBy, profileLabel: r.ProfileName.V}
	if r.Deprecated.V {
		labels[mpi.SupportLabel] = mpi.Deprecated
	}
	if r.Default.V {
		labels[defaultLabel] = "true"
	}
	if test := c.CertificationOf(r.Name.V); test != nil {
		labels[mpi.CertifiedLabel] = test.State()
	}
	return labels
}

// podLabels mark pods of compiled runtimes, so that policies for jobs of other runtimes never select them, not even while a
// cluster changes its executor.
func podLabels(r *plan.Runtime) map[string]string {
	return map[string]string{mpi.ImplementationLabel: string(r.Implementation.V)}
}

func machineText(p *plan.Profile) string {
	var amounts []string
	for _, offer := range p.Allocatable() {
		amounts = append(amounts, offer.Name+"="+offer.V.String())
	}
	return strings.Join(amounts, ",")
}

func runtimeAnnotations(c *plan.Cluster, r *plan.Runtime) map[string]string {
	annotations := map[string]string{
		mpi.MinNodesAnnotation: strconv.Itoa(int(r.MinNodes.V)),
		mpi.MaxNodesAnnotation: strconv.Itoa(int(r.MaxNodes.V)),
		mpi.MachineAnnotation:  machineText(r.Profile),
	}
	if machines := c.MachinesOf(r.Profile.Name); machines != nil && machines.PricePerHour.V != nil {
		annotations[mpi.PriceAnnotation] = strconv.FormatFloat(machines.PricePerHour.V.AsApproximateFloat64(), 'f', -1, 64)
	}
	if r.Restarts.V > 0 {
		annotations[mpi.RestartsAnnotation] = strconv.Itoa(int(r.Restarts.V))
	}
	if r.Gang.Scheduler.V != plan.GangNone {
		annotations[mpi.GangTimeoutAnnotation] = r.Gang.Timeout.V.String()
	}
	texts := map[string]string{
		mpi.DescriptionAnnotation: r.Description.V, mpi.DocumentationAnnotation: r.Documentation.V,
		mpi.LogsAnnotation: c.Logs.V, mpi.DocsAnnotation: c.Docs.V,
	}
	if end := r.Deprecation; end != nil && r.Deprecated.V {
		texts[mpi.SuccessorAnnotation], texts[mpi.RetireOnAnnotation] = end.Successor.V, end.RetireOn.V
		texts[mpi.DeprecationReasonAnnotation] = end.Reason.V
	}
	if test := c.CertificationOf(r.Name.V); test != nil {
		texts[mpi.CertificationAnnotation] = test.Text()
	}
	for name, text := range texts {
		if text != "" {
			annotations[name] = text
		}
	}
	return annotations
}

func podUser(c *plan.Cluster) *template.User {
	if c.User.V == nil {
		return nil
	}
	return &template.User{UID: c.User.V.UID.V, GID: c.User.V.GID.V, FSGroup: c.User.V.FSGroup.V}
}

func nodeSelector(p *plan.Profile) map[string]string {
	labels := map[string]string{}
	for _, label := range p.NodeLabels() {
		labels[label.Name] = label.V
	}
	return labels
}

func networkAttachments(p *plan.Profile) []string {
	var networks []string
	for _, network := range p.Fabric.Networks {
		networks = append(networks, network.V)
	}
	return networks
}

func templateVolumes(r *plan.Runtime) []template.Volume {
	var result []template.Volume
	for _, v := range r.Volumes {
		result = append(result, template.Volume{
			Name: v.Name.V, MountPath: v.MountPath.V, Claim: v.Claim.V, Scratch: v.Scratch.V, ReadOnly: v.ReadOnly.V,
		})
	}
	return result
}

// gangOf asks a scheduler that reads the runtime. Kueue does not: it admits the job as a whole.
func gangOf(r *plan.Runtime) template.Gang {
	switch r.Gang.Scheduler.V {
	case plan.GangCoscheduling:
		return template.Gang{Coscheduling: r.Gang.Timeout.V}
	case plan.GangVolcano:
		return template.Gang{Volcano: true}
	}
	return template.Gang{}
}

func priorityClass(c *plan.Cluster, r *plan.Runtime) string {
	if priority := c.PriorityOf(r); priority != nil {
		return priority.Name.V
	}
	return ""
}

// topologyLabel is the label of the level that the runtime asks for. Only Kueue reads it.
func topologyLabel(c *plan.Cluster, r *plan.Runtime) string {
	level := r.Profile.Level(r.Gang.Within.V)
	if c.Queueing == nil || level == nil {
		return ""
	}
	return level.NodeLabel.V
}

func podTolerations(p *plan.Profile) []corev1.Toleration {
	var result []corev1.Toleration
	for _, t := range p.Tolerations {
		result = append(result, t.V)
	}
	return result
}

func mpiVariables(planned []plan.Variable) []mpi.Variable {
	var result []mpi.Variable
	for _, v := range planned {
		result = append(result, mpi.Variable{Name: v.Name.V, Value: v.Value.V, Why: v.Why})
	}
	return result
}
