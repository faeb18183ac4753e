package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var storedSecretRule = origin.Rule("stored secrets",
	"External Secrets Operator writes the Secret from its store, and reads it again each hour; git has its name only")

// storedSecrets compiles the Secrets of a namespace that come from a store.
func (b *builder) storedSecrets(t *plan.Tenant, namespace *plan.Value[string]) {
	for i := range t.StoredSecrets {
		s := &t.StoredSecrets[i]
		b.add(storedSecretRule, "external-secrets.io/v1", "ExternalSecret", tenantMeta(t, namespace, planText("", &s.Name)),
			object.Map("spec",
				object.List("dataFrom", object.Map("", object.Map("extract", planText("key", &s.Key)))),
				object.Text("refreshInterval", "1h", nil),
				object.Map("secretStoreRef", object.Text("kind", "ClusterSecretStore", nil), planText("name", &s.Store)),
				object.Map("target", planText("name", &s.Name), object.Map("template", planText("type", &s.Type)))))
	}
}
