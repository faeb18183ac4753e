package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
)

const affinityPolicyName = "lockstep-pod-affinity"

// affinityPolicy refuses pods of tenants, whoever makes them, that are placed by pods of other namespaces: such a pod keeps those off its
// machines as well. A ResourceQuota with the scope CrossNamespacePodAffinity does the same and would be an object for each namespace
// (docs/decisions/2026-11-23-what-a-patch-may-set.md).
func affinityPolicy() admissionPolicy {
	return admissionPolicy{
		name:  affinityPolicyName,
		rules: []object.Node{requestKind("", "v1", "pods", "CREATE")},
		variables: []object.Node{
			// Without its type: the API server warns of comparisons between types that differ in name only.
			celVariable("affinity", `dyn(object.spec).?affinity.orValue({})`),
			celVariable("foreignTerms", affinityTerms(`variables.affinity`)+`.exists(t, t.?namespaces.orValue([]).size() > 0 || has(t.namespaceSelector))`),
		},
		validations: []object.Node{celValidation("!variables.foreignTerms",
			"the pod has affinity to pods of other namespaces",
			"the pod sets namespaces or namespaceSelector in podAffinity or podAntiAffinity, and would keep pods of other namespaces off its machine: remove them; JobSet's annotation alpha.jobset.sigs.k8s.io/exclusive-topology sets them too")},
		namespaces: tenantSelector("namespaceSelector"),
	}
}
