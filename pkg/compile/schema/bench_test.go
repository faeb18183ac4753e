package schema_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// tenantKinds are the objects of the corpus that a bundle has for each tenant, as often as it has them.
var tenantKinds = map[string]int{
	"namespace": 1, "quota": 1, "limits": 1, "policy": 4, "role": 1, "binding": 3, "account": 1, "claim": 1, "clusterqueue": 1, "localqueue": 1,
}

// tenantObjects returns the objects of many tenants, each with names and amounts of its own.
func tenantObjects(tb testing.TB, tenants int) []object.Node {
	tb.Helper()
	var nodes []object.Node
	for _, test := range cases(tb) {
		name, original := strings.CutSuffix(test.Name, ": as it is")
		for range tenantKinds[name] {
			for i := range tenants {
				if original {
					nodes = append(nodes, tenantObject(test.Object, i))
				}
			}
		}
	}
	return nodes
}

func tenantObject(content map[string]any, tenant int) object.Node {
	content = runtime.DeepCopyJSON(content)
	metadata := content["metadata"].(map[string]any)
	name := fmt.Sprintf("tenant-%04d", tenant)
	metadata["name"] = name
	metadata["labels"] = map[string]any{"lockstep.dev/tenant": name, "app.kubernetes.io/managed-by": "lockstep"}
	if metadata["namespace"] != nil {
		metadata["namespace"] = name
	}
	if content["kind"] == "ClusterQueue" {
		content["spec"].(map[string]any)["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{"lockstep.dev/tenant": name}}
	}
	return object.FromValue("", content, nil)
}

// BenchmarkCheckTenantObjects checks all objects of 1,000 tenants, after a first pass has compiled the schemas.
func BenchmarkCheckTenantObjects(b *testing.B) {
	s, nodes := schemas(b, 36), tenantObjects(b, 1000)
	checkAll(b, s.Check, nodes)
	b.ReportAllocs()
	for b.Loop() {
		checkAll(b, s.Check, nodes)
	}
	b.ReportMetric(float64(len(nodes)*b.N)/b.Elapsed().Seconds(), "objects/s")
	b.ReportMetric(float64(len(nodes)), "objects/op")
}

// BenchmarkFirstCheck checks the objects of ten tenants with schemas that nobody has used yet, as a small build does.
func BenchmarkFirstCheck(b *testing.B) {
	nodes := tenantObjects(b, 10)
	b.ReportAllocs()
	for b.Loop() {
		checkAll(b, schemas(b, 36).Check, nodes)
	}
}

func checkAll[P any](b *testing.B, check func(*object.Node) []P, nodes []object.Node) {
	b.Helper()
	for i := range nodes {
		if problems := check(&nodes[i]); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	s, nodes := schemas(t, 36), tenantObjects(t, 3)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := range nodes {
				if problems := s.Check(&nodes[i]); len(problems) > 0 {
					t.Error(problems)
				}
			}
		})
	}
	workers.Wait()
}
