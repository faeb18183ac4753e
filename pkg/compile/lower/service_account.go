package lower

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// serviceAccount takes the token from the namespace's `default` account, which every pod of a job uses that names no other.
// A dedicated account would leave `default` with its token for all other pods. Kubernetes creates `default` itself; applying
// it changes the one field.
func (b *builder) serviceAccount(t *plan.Tenant, namespace string) {
	b.add(corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   tenantMeta(t, namespace, "default"),
		AutomountServiceAccountToken: ptr.To(false),
	})
}
