package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// storedSecretsCanBeMade asks that the stores of a tenant's Secrets exist, and that each Secret has one content.
func storedSecretsCanBeMade(c *plan.Cluster, list *diag.List) {
	stores := missingOfCluster{code: diag.UnknownSecretStore, kind: "secret store", key: "secretStores"}
	for i := range c.SecretStores {
		stores.known = append(stores.known, c.SecretStores[i].V)
	}
	for _, t := range c.Tenants {
		first := map[string]*plan.StoredSecret{}
		for i := range t.StoredSecrets {
			s := &t.StoredSecrets[i]
			stores.report(c, s.Store, list)
			if before := first[s.Name.V]; before != nil {
				list.Errorf(diag.StoredSecretTwice, s.Name.At, "the tenant `%s` has two Secrets `%s`", t.Name.V, s.Name.V).
					Also(before.Name.At, "also here").Helpf("choose another name")
				continue
			}
			first[s.Name.V] = s
		}
	}
}
