package access_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// many returns the sample with a number of tenants of two namespaces each.
func many(tenants int) string {
	var b strings.Builder
	head, _, _ := strings.Cut(specs, "---\napiVersion: lockstep.dev/v1alpha1\nkind: Tenant")
	b.WriteString(head)
	for i := range tenants {
		fmt.Fprintf(&b, `---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: t%d}
spec:
  people: {admins: [t%d-admins], editors: [t%d-editors], viewers: [t%d-viewers, auditors]}
  namespaces: [t%d, t%d-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  queue: {shares: [{profile: cpu, nodes: 2}]}
`, i, i, i, i, i, i)
	}
	return strings.Replace(b.String(), "nodes: 8", "nodes: 8000", 1)
}

// BenchmarkAccess1000Tenants is what the proof costs for one cluster with 1,000 tenants, 2,000 namespaces, without compiling them.
func BenchmarkAccess1000Tenants(b *testing.B) {
	s := compiled(b, many(1000))
	var units [][]object.Object
	for i := 0; i < len(s.Objects); i += 20 {
		units = append(units, s.Objects[i:min(i+20, len(s.Objects))])
	}
	b.ReportAllocs()
	for b.Loop() {
		list, c := &diag.List{}, &access.Cluster{}
		for _, unit := range units {
			c.Add(access.Of(unit))
		}
		if held := c.Prove(s.Plan, list); list.Errors() > 0 || len(held) < 10_000 {
			b.Fatalf("%d errors, %d holders", list.Errors(), len(held))
		}
	}
}
