package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWithoutBookkeeping: what the API server and GitOps engines note for themselves is no drift.
func TestWithoutBookkeeping(t *testing.T) {
	there := fields{
		"apiVersion": "v1", "kind": "ConfigMap", "data": fields{"a": "1"}, "status": fields{"seen": "1"},
		"metadata": fields{
			"name": "a", "uid": "1", "resourceVersion": "2",
			"labels":      fields{"kustomize.toolkit.fluxcd.io/name": "lockstep-platform", "kustomize.toolkit.fluxcd.io/namespace": "flux-system", "team": "a"},
			"annotations": fields{"argocd.argoproj.io/tracking-id": "lockstep-platform:/ConfigMap:ns/a"},
		},
	}
	want := fields{"apiVersion": "v1", "kind": "ConfigMap", "data": fields{"a": "1"}, "metadata": fields{"name": "a", "labels": fields{"team": "a"}}}
	if diff := cmp.Diff(want, withoutBookkeeping(&unstructured.Unstructured{Object: there})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
