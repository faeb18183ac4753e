package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var controllerBindingRule = origin.Rule("controller binding", "mpi-controller runs the jobs of the tenant; it touches Secrets in namespaces of tenants only")

// controllerRole is the ClusterRole of our chart that holds what running jobs takes, Secrets included.
const controllerRole = mpi.ControllerName + "-jobs"

// controllerBinding lets mpi-controller run jobs in one namespace. With the chart's value `everyNamespace` switched off it
// can touch Secrets in the namespaces of tenants only.
func (b *builder) controllerBinding(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	b.add(controllerBindingRule, rbacVersion, "RoleBinding",
		tenantMeta(t, namespace, constantText(controllerRole)),
		clusterRoleRef(controllerRole),
		object.List("subjects", object.Map("",
			object.Text("kind", "ServiceAccount", nil), object.Text("name", mpi.ControllerName, nil), planText("namespace", &c.ControllerNamespace))))
}
