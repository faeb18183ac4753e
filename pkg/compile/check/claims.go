package check

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// claimsCanBeMade asks of the claims of a tenant that their storage classes exist, that they are in namespaces of the tenant, each
// name once, and that the quota has room for them.
func claimsCanBeMade(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for i := range t.Claims {
			claim := &t.Claims[i]
			claimStorageClassExists(c, claim, list)
			for _, namespace := range claim.Namespaces {
				claimNamespaceIsOwn(t, claim, namespace, list)
			}
			for j := range t.Claims[:i] {
				reportClaimTwice(claim, &t.Claims[j], list)
			}
		}
		quotaHoldsClaims(t, list)
	}
}

func claimStorageClassExists(c *plan.Cluster, claim *plan.Claim, list *diag.List) {
	name := claim.StorageClass
	known := make([]string, 0, len(c.StorageClasses))
	for _, class := range c.StorageClasses {
		known = append(known, class.V)
	}
	if name.V == "" || len(known) == 0 || slices.Contains(known, name.V) {
		return
	}
	report := list.Errorf(diag.UnknownStorageClass, name.At, "the cluster `%s` has no storage class `%s`", c.Name.V, name.V).
		Also(c.StorageClasses[0].At, "the classes of the cluster").Suggest(name.V, known)
	if len(report.Help) == 0 {
		report.Helpf("name one of `storageClasses` of the cluster")
	}
}

func claimNamespaceIsOwn(t *plan.Tenant, claim *plan.Claim, namespace plan.Value[string], list *diag.List) {
	if !slices.ContainsFunc(t.Namespaces, func(n plan.Value[string]) bool { return n.V == namespace.V }) {
		list.Errorf(diag.ForeignClaim, namespace.At, "the claim `%s` is for the namespace `%s`, which is not one of the tenant `%s`", claim.Name.V, namespace.V, t.Name.V).
			Also(t.Namespaces[0].At, "the tenant's namespaces").Helpf("name one of the tenant's `namespaces`")
	}
}

func reportClaimTwice(claim, before *plan.Claim, list *diag.List) {
	if claim.Name.V != before.Name.V {
		return
	}
	for _, namespace := range claim.Namespaces {
		if before.InNamespace(namespace.V) {
			list.Errorf(diag.ClaimTwice, claim.Name.At, "the claim `%s` is there twice in the namespace `%s`", claim.Name.V, namespace.V).
				Also(before.Name.At, "also here").Helpf("choose another name, or give them different `namespaces`")
			return
		}
	}
}

func quotaHoldsClaims(t *plan.Tenant, list *diag.List) {
	quota := t.Quota.Storage
	if quota.V == nil {
		return
	}
	for _, namespace := range t.Namespaces {
		var sum resource.Quantity
		for i := range t.Claims {
			if t.Claims[i].InNamespace(namespace.V) {
				sum.Add(t.Claims[i].Size.V)
			}
		}
		if sum.Cmp(*quota.V) > 0 {
			list.Errorf(diag.StorageQuotaTooSmall, quota.At, "the storage quota is %s, the tenant's own claims in `%s` take %s", quota.V, namespace.V, sum.String()).
				Also(t.Claims[0].Size.At, "the first claim").Helpf("raise `storage` to %s or more", sum.String())
			return
		}
	}
}
