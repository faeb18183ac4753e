package prooftest

import (
	"fmt"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// SpecsWithTenants returns specs with other tenants: those before the first Tenant, and a number of tenants of two namespaces each. More returns
// further lines of the spec of one.
func SpecsWithTenants(specs string, tenants int, more func(i int) string) string {
	var b strings.Builder
	head, _, _ := strings.Cut(specs, "---\napiVersion: lockstep.dev/v1alpha1\nkind: Tenant")
	b.WriteString(head)
	for i := range tenants {
		fmt.Fprintf(&b, `---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: t%[1]d}
spec:
  people: {admins: [t%[1]d-admins], editors: [t%[1]d-editors], viewers: [t%[1]d-viewers, auditors]}
  namespaces: [t%[1]d, t%[1]d-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
`, i)
		b.WriteString(more(i))
	}
	return b.String()
}

// CutIntoUnits cuts objects into units of about the size that those of tenants have.
func CutIntoUnits(objects []object.Object) [][]object.Object {
	const size = 20
	var units [][]object.Object
	for i := 0; i < len(objects); i += size {
		units = append(units, objects[i:min(i+size, len(objects))])
	}
	return units
}
