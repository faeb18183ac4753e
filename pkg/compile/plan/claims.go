package plan

import (
	"cmp"
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// claims are the volumes of a tenant, sorted by name.
func claims(d *decode.Document, list []v1alpha1.Claim, all []Value[string]) []Claim {
	var result []Claim
	for i := range list {
		own := &list[i]
		claim := Claim{
			Name: writtenValue(d, &own.Name), Size: writtenValue(d, &own.Size), StorageClass: writtenValue(d, &own.StorageClass),
			Access:     orDefault(d, &own.Access, "all nodes of a job may mount it"),
			Namespaces: all,
		}
		if len(own.Namespaces) > 0 {
			claim.Namespaces = sortedNames(d, own.Namespaces)
		}
		result = append(result, claim)
	}
	slices.SortStableFunc(result, func(a, b Claim) int { return cmp.Compare(a.Name.V, b.Name.V) })
	return result
}

// InNamespace reports whether a namespace has the claim.
func (c *Claim) InNamespace(namespace string) bool {
	return slices.ContainsFunc(c.Namespaces, func(n Value[string]) bool { return n.V == namespace })
}
