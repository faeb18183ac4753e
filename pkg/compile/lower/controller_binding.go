package lower

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// controllerRole is the ClusterRole of our chart that holds what running jobs takes, Secrets included.
const controllerRole = mpi.ControllerName + "-jobs"

// controllerBinding lets mpi-controller run jobs in one namespace. With the chart's value `everyNamespace` switched off it
// can touch Secrets in the namespaces of tenants only.
func (b *builder) controllerBinding(c *plan.Cluster, t *plan.Tenant, namespace string) {
	b.add(rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: tenantMeta(t, namespace, controllerRole),
		Subjects: []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Name: mpi.ControllerName, Namespace: c.ControllerNamespace.V,
		}},
		RoleRef: clusterRoleRef(controllerRole),
	})
}
