package schema

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// TestServed: what no API server has is told with what to write; what one may have is not.
func TestServed(t *testing.T) {
	if !Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	s, err := SchemasFor(36)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ apiVersion, kind, want string }{
		{"policy/v1beta1", "PodDisruptionBudget", "write `policy/v1`"},
		{"batch/v1beta1", "CronJob", "write `batch/v1`"},
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler", "write `autoscaling/v2`"},
		{"extensions/v1beta1", "Ingress", "no API group `extensions`"},
		{"apps/v1", "Deployement", "did you mean `Deployment`?"},
		{"v1", "Configmap", "did you mean `ConfigMap`?"},
		{"v2", "ConfigMap", "write `v1`"},
		{"networking.k8s.io/v1", "NetworkPolicies", "did you mean `NetworkPolicy`?"},
		{"kueue.x-k8s.io/v1beta1", "ClusterQueu", "did you mean `ClusterQueue`?"},
		{"trainer.kubeflow.org/v2alpha1", "TrainJob", "write `trainer.kubeflow.org/v1alpha1`"},
		{"apps/v1", "ReplicaSet", ""},
		{"admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", "write `admissionregistration.k8s.io/v1`"},
		{"monitoring.coreos.com/v1", "Prometheus", ""},
		{"cert-manager.io/v1", "Certificate", ""},
		{"gateway.networking.k8s.io/v1", "HTTPRoute", ""},
		{"argoproj.io/v1alpha1", "Workflow", ""},
	} {
		root := object.FromValue("", map[string]any{"apiVersion": tc.apiVersion, "kind": tc.kind}, nil)
		var got string
		for _, p := range s.Check(&root) {
			if p.Unserved {
				got = p.Message
			}
		}
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s %s: %q, want %q", tc.apiVersion, tc.kind, got, tc.want)
		}
	}
}
