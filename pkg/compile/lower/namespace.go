package lower

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

var namespaceType = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}

// displayNameAnnotation is how OpenShift's console calls a project.
const displayNameAnnotation = "openshift.io/display-name"

// platformNamespace adds a namespace of the platform. Its pods need nothing that `restricted` forbids.
func (b *builder) platformNamespace(name string) {
	m := meta(name)
	podSecurityLabels(m.Labels, "restricted")
	b.add(corev1.Namespace{TypeMeta: namespaceType, ObjectMeta: m})
}

func (b *builder) namespace(t *plan.Tenant, name string) {
	m := tenantMeta(t, "", name)
	podSecurityLabels(m.Labels, t.PodSecurity)
	if t.DisplayName != "" {
		m.Annotations = map[string]string{displayNameAnnotation: t.DisplayName}
	}
	b.add(corev1.Namespace{TypeMeta: namespaceType, ObjectMeta: m})
}

// podSecurityLabels refuse pods above a level, and also warn and record them, so that whoever applies a TrainJob sees why
// its pods do not come (https://kubernetes.io/docs/concepts/security/pod-security-admission/). No version label is set: the
// level is meant as the running cluster understands it.
func podSecurityLabels(labels map[string]string, level string) {
	for _, mode := range []string{"enforce", "audit", "warn"} {
		labels["pod-security.kubernetes.io/"+mode] = level
	}
}
