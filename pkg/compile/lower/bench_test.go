package lower_test

import (
	"testing"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const specs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: local}
spec: {platform: Kubernetes, version: "1.36", agent: {image: "example.org/agent:1"}}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision}
spec:
  displayName: "Vision: cameras & more"
  people: {admins: [vision-admins], editors: [vision-editors, interns], viewers: ["oidc:auditors", interns]}
  namespaces: [vision]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  limits: {container: {max: {cpu: 4, memory: 8Gi}}}
  network:
    egress: [{cidr: 10.20.0.0/16, ports: [{port: 2049}, {port: 53, protocol: UDP}]}]
    ingress: [{namespace: monitoring}]
`

func planned(b *testing.B) *plan.Cluster {
	b.Helper()
	list := &diag.List{}
	documents := decode.Files([]*source.File{source.NewFile("specs.yaml", []byte(specs))}, list)
	plans := plan.Clusters(resolve.IndexDocuments(documents, list), "")
	if list.Errors() > 0 || len(plans) != 1 || len(plans[0].Tenants) != 1 {
		b.Fatalf("%d errors, %d plans", list.Errors(), len(plans))
	}
	return plans[0]
}

// BenchmarkTenantUnit is what one more tenant costs after its plan is made: its objects, and their bytes.
func BenchmarkTenantUnit(b *testing.B) {
	c := planned(b)
	objects := 0
	b.ReportAllocs()
	for b.Loop() {
		lowered := lower.TenantObjects(c, c.Tenants[0], &diag.List{})
		files, _ := emit.Files(c.Name.V, lowered)
		if len(files) != 1 {
			b.Fatal("not one file")
		}
		objects += len(lowered)
	}
	b.ReportMetric(float64(objects)/b.Elapsed().Seconds(), "objects/s")
}
