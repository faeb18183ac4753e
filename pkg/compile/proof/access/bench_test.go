package access_test

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// many returns the sample with a number of tenants that queue.
func many(tenants int) string {
	queueing := prooftest.SpecsWithTenants(specs, tenants, func(int) string { return "  queue: {shares: [{profile: cpu, nodes: 2}]}\n" })
	return strings.Replace(queueing, "nodes: 8", "nodes: 8000", 1)
}

// BenchmarkAccess1000Tenants is what the proof costs for one cluster with 1,000 tenants, 2,000 namespaces, without compiling them.
func BenchmarkAccess1000Tenants(b *testing.B) {
	s := compiled(b, many(1000))
	units := prooftest.CutIntoUnits(s.Objects)
	b.ReportAllocs()
	for b.Loop() {
		list, c := &diag.List{}, &access.Cluster{}
		for _, unit := range units {
			c.Add(access.FactsOf(unit))
		}
		if held := c.Prove(s.Plan, list); list.Errors() > 0 || len(held) < 10_000 {
			b.Fatalf("%d errors, %d holders", list.Errors(), len(held))
		}
	}
}
