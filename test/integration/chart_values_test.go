package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestValuesOfTheChart needs no API server: what values make of the objects of the chart.
func TestValuesOfTheChart(t *testing.T) {
	selector := map[string]any{"app.kubernetes.io/name": "mpi-controller", "app.kubernetes.io/instance": "mpi-controller"}
	spread := []string{"spec", "template", "spec", "topologySpreadConstraints"}
	ingress := []string{"spec", "ingress"}
	reviews := []string{"tokenreviews", "subjectaccessreviews"}
	cases := map[string]struct {
		reason string
		values map[string]any
		kind   string
		fields []string
		want   func(any) bool
	}{
		"Alone": {"a budget for one replica would keep its machine from being drained", nil, "PodDisruptionBudget", nil, func(o any) bool { return o == nil }},
		"Standby": {"a machine may be drained, also while pods are not ready", map[string]any{"replicas": 2}, "PodDisruptionBudget", []string{"spec"}, func(spec any) bool {
			return cmp.Equal(spec, map[string]any{"maxUnavailable": int64(1), "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": map[string]any{"matchLabels": selector}})
		}},
		"NoSpread": {"one replica is nowhere but where it is", nil, "Deployment", spread, func(o any) bool { return o == nil }},
		"Spread": {"machines, and zones", map[string]any{"replicas": 3}, "Deployment", spread, func(o any) bool {
			constraints, _ := o.([]any)
			return len(constraints) == 2
		}},
		"Path": {"who applies the chart must not write the secret path back", map[string]any{"mode": "companion"}, "MutatingWebhookConfiguration", []string{"webhooks"}, func(o any) bool {
			hooks, _ := o.([]any)
			service, _, _ := unstructured.NestedMap(hooks[0].(map[string]any), "clientConfig", "service") //nolint:forcetypeassert // the chart has one
			return cmp.Equal(service, map[string]any{"name": "mpi-controller-webhook", "namespace": controllerNamespace})
		}},
		"AnyServer": {"the address of the API server is not known", map[string]any{"mode": "companion"}, "NetworkPolicy", ingress, func(o any) bool {
			return cmp.Equal(o.([]any)[2], map[string]any{"ports": []any{map[string]any{"port": "webhook"}}}) //nolint:forcetypeassert // a list
		}},
		"Server": {"", map[string]any{"mode": "companion", "webhook": map[string]any{"from": []any{"10.0.0.1/32"}}}, "NetworkPolicy", ingress, func(o any) bool {
			return cmp.Equal(o.([]any)[2].(map[string]any)["from"], []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.0.0.1/32"}}}) //nolint:forcetypeassert // a list of maps
		}},
		"Readers": {"who reads metrics is found out", nil, "ClusterRole", []string{"rules"}, func(rules any) bool { return grants(rules, reviews) }},
		"OpenMetrics": {"nobody is asked, and no right is left over", map[string]any{"metrics": map[string]any{"authentication": false}}, "ClusterRole", []string{"rules"}, func(rules any) bool {
			return !grants(rules, reviews[:1]) && !grants(rules, reviews[1:])
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := render(tc.values)
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == tc.kind && strings.HasPrefix(o.GetName(), "mpi-controller") && o.GetName() != "mpi-controller-jobs"
			}); i >= 0 {
				got, _, _ = unstructured.NestedFieldNoCopy(objects[i].Object, tc.fields...)
			}
			if !tc.want(got) {
				t.Errorf("%s: %v of %s is %v", tc.reason, tc.fields, tc.kind, got)
			}
		})
	}
}

// grants reports whether rules are about all of some resources.
func grants(rules any, resources []string) bool {
	list, _ := rules.([]any)
	return !slices.ContainsFunc(resources, func(resource string) bool {
		return !slices.ContainsFunc(list, func(rule any) bool {
			named, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources") //nolint:forcetypeassert // a list of maps
			return slices.Contains(named, resource)
		})
	})
}
