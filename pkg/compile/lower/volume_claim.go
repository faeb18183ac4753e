package lower

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	claimRule = origin.Rule("claim", "a volume of the tenant, which outlives jobs")
	keepRule  = origin.Rule("claim", "no change of a spec deletes data: neither Argo CD nor Flux prunes what has this; somebody deletes it by hand")
)

// keepAnnotations keep an object where git no longer has it
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/, https://fluxcd.io/flux/components/kustomize/kustomizations/).
func keepAnnotations(why *origin.Origin) []object.Node {
	return []object.Node{
		object.Text("argocd.argoproj.io/sync-options", "Prune=false,Delete=false", why),
		object.Text("kustomize.toolkit.fluxcd.io/prune", "disabled", why),
	}
}

func (b *builder) claims(t *plan.Tenant, namespace *plan.Value[string]) {
	for i := range t.Claims {
		claim := &t.Claims[i]
		if !claim.InNamespace(namespace.V) {
			continue
		}
		metadata := tenantMeta(t, namespace, planText("", &claim.Name))
		metadata.Put(object.Map("annotations", keepAnnotations(keepRule)...))
		b.add(claimRule, "v1", "PersistentVolumeClaim", metadata, object.Map("spec",
			object.List("accessModes", planText("", &claim.Access)),
			object.Map("resources", object.Map("requests", object.Quantity("storage", claim.Size.V, &claim.Size.Origin))),
			storageClassName(claim)))
	}
}

// storageClassName is left out for the default one: an empty name would mean a volume without class.
func storageClassName(claim *plan.Claim) object.Node {
	if claim.StorageClass.V == "" {
		return object.Node{}
	}
	return planText("storageClassName", &claim.StorageClass)
}

// holdsClaims reports whether a namespace has claims of its tenant. It must not be pruned either: they would go with it.
func holdsClaims(t *plan.Tenant, namespace string) bool {
	return slices.ContainsFunc(t.Claims, func(c plan.Claim) bool { return c.InNamespace(namespace) })
}
