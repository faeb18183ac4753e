package isolation_test

import (
	"fmt"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// many returns the sample with a number of tenants, every third with egress and ingress of its own.
func many(tenants int) string {
	return prooftest.SpecsWithTenants(specs, tenants, func(i int) string {
		if i%3 != 0 {
			return ""
		}
		return fmt.Sprintf("  network:\n    egress: [{cidr: 192.%d.%d.0/24, ports: [{port: 2049}]}, {cidr: \"2001:db8:%d::/48\"}]\n    ingress: [{namespace: monitoring}, {namespace: gateway}]\n", i%200, i/200, i)
	})
}

// BenchmarkIsolation1000Tenants is what the proof costs for one cluster with 1,000 tenants, 2,000 namespaces, without compiling them.
func BenchmarkIsolation1000Tenants(b *testing.B) {
	s := prooftest.CompileSample(b, many(1000), nil)
	units := prooftest.CutIntoUnits(s.Objects)
	b.ReportAllocs()
	for b.Loop() {
		list, c := &diag.List{}, &isolation.Cluster{}
		for _, unit := range units {
			c.Add(isolation.FactsOf(unit))
		}
		if reach := c.Prove(s.Plan, list); list.Errors() > 0 || len(reach.Of) != 2000 {
			b.Fatalf("%d errors, %d namespaces", list.Errors(), len(reach.Of))
		}
	}
}

// BenchmarkBroken1000Tenants is the worst that happens: every namespace is open to everybody.
func BenchmarkBroken1000Tenants(b *testing.B) {
	s := prooftest.CompileSample(b, many(1000), nil)
	var kept []object.Object
	for _, o := range s.Objects {
		if o.ID.Kind != "NetworkPolicy" {
			kept = append(kept, o)
		}
	}
	for b.Loop() {
		if found, _ := prove(s, kept); len(found) < 2000 {
			b.Fatal(len(found))
		}
	}
}
