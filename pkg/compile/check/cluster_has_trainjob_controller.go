package check

import (
	"path"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// clusterHasTrainJobController warns of a cluster whose TrainJobs would wait forever: mpi-controller is to run them and is nowhere. A cluster
// that says where it lives has it from somewhere else.
func clusterHasTrainJobController(c *plan.Cluster, list *diag.List) {
	isController := func(component plan.Component) bool { return path.Base(component.Chart.V) == mpi.ControllerName }
	if !c.Bundled.V || c.ControllerNamespace.Kind != origin.Default || slices.ContainsFunc(c.Components, isController) {
		return
	}
	list.Warnf(diag.NoTrainJobController, c.Name.At, "no controller runs TrainJobs on the cluster `%s`: none of its components is mpi-controller", c.Name.V).
		Helpf("add the chart `charts/mpi-controller` to `components`; where the controller is installed otherwise, say so with `controller.namespace`; where Kubeflow Trainer runs the jobs, set `executor: KubeflowTrainer`")
}
