package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// supportedExecutor admits the bundled controller only: what Kubeflow Trainer needs beside it is not compiled yet.
func supportedExecutor(c *plan.Cluster, list *diag.List) {
	if !c.Bundled.V {
		list.Errorf(diag.ExecutorNotSupported, c.Bundled.At, "the executor `KubeflowTrainer` is not supported yet").
			Helpf("use `Bundled`")
	}
}
