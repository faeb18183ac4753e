package lower

import (
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// What a runtime carries besides its template, for people and their tools. The bounds are not enforced in the cluster: no controller
// reads them.
const (
	profileLabel          = "lockstep.dev/profile"
	descriptionAnnotation = "lockstep.dev/description"
	minNodesAnnotation    = "lockstep.dev/min-nodes"
	maxNodesAnnotation    = "lockstep.dev/max-nodes"
	// supportLabel and its value are upstream's way to call a runtime deprecated (kubeflow/trainer pkg/constants).
	supportLabel = "trainer.kubeflow.org/support"
	deprecated   = "deprecated"
)

func (b *builder) trainingRuntime(c *plan.Cluster, r *plan.Runtime) {
	compiled, err := portable(c, r).Build()
	if err != nil {
		b.list.Errorf(diag.RenderFails, r.Name.At, "%v", err)
		return
	}
	b.add(compiled)
}

func portable(c *plan.Cluster, r *plan.Runtime) template.Runtime {
	return template.Runtime{
		Name:              r.Name.V,
		Labels:            runtimeLabels(r),
		Annotations:       runtimeAnnotations(r),
		Framework:         r.Framework,
		Implementation:    r.Implementation,
		Version:           r.Version.V,
		Image:             r.Image.V,
		World:             r.World(r.DefaultNodes.V),
		NodeResources:     r.NodeResources(),
		LauncherResources: r.LauncherResources(),
		Network:           mpi.Network{Fabric: mpi.Ethernet, Interface: r.Profile.Interface},
		Env:               append(variables(r.Profile.Env), variables(r.Env)...),
		Agent:             template.Agent{Image: c.AgentImage.V, ImageVolume: c.ImageVolumes.V},
		User:              c.User.V,
		NodeSelector:      r.Profile.NodeSelector,
		Tolerations:       r.Profile.Tolerations,
		SharedMemory:      r.Profile.SharedMemory,
	}
}

func runtimeLabels(r *plan.Runtime) map[string]string {
	labels := map[string]string{managedByLabel: managedBy, profileLabel: r.Profile.Name}
	if r.Deprecated {
		labels[supportLabel] = deprecated
	}
	return labels
}

func runtimeAnnotations(r *plan.Runtime) map[string]string {
	annotations := map[string]string{
		minNodesAnnotation: strconv.Itoa(int(r.MinNodes.V)),
		maxNodesAnnotation: strconv.Itoa(int(r.MaxNodes.V)),
	}
	if r.Description != "" {
		annotations[descriptionAnnotation] = r.Description
	}
	return annotations
}

func variables(planned []plan.Variable) []mpi.Variable {
	var result []mpi.Variable
	for _, v := range planned {
		result = append(result, mpi.Variable{Name: v.Name.V, Value: v.Value, Why: v.Why})
	}
	return result
}
