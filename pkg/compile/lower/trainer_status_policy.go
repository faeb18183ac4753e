package lower

import (
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var trainerStatusRule = origin.Rule("status server",
	"programs post their progress to the status server of Kubeflow Trainer, which runs the jobs; no other port is opened")

// trainerStatusPolicy opens the way to the status server of Kubeflow Trainer, if that runs the jobs. The label of its
// pods differs between manifests and chart.
func (b *builder) trainerStatusPolicy(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	if c.Bundled.V {
		return
	}
	from := &origin.Origin{At: c.Bundled.At, Kind: origin.Derived, Why: "Kubeflow Trainer executes TrainJobs"}
	oneOf := func(key string, values ...string) object.Node {
		return object.List("matchExpressions", object.Map("", object.Text("key", key, from),
			object.Text("operator", "In", from), object.Texts("values", from, values...)))
	}
	b.networkPolicy(t, namespace, trainerStatusRule, "lockstep-trainer-status",
		object.List("egress", object.Map("",
			object.List("ports", object.Map("",
				object.Number("port", mpi.TrainerStatusPort, from), object.Text("protocol", "TCP", nil))),
			object.List("to", object.Map("",
				object.Map("namespaceSelector", oneOf(corev1.LabelMetadataName, mpi.TrainerNamespaces()...)),
				object.Map("podSelector", oneOf("app.kubernetes.io/name", "kubeflow-trainer", "trainer")))))),
		object.Texts("policyTypes", nil, "Egress"))
}
