package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// secretWritersAreGuarded refuses writers of Secrets on versions without the policy that keeps them from reading.
func secretWritersAreGuarded(c *plan.Cluster, list *diag.List) {
	if t := c.WritesSecrets(); t != nil && !c.AdmissionPolicies() {
		list.Errorf(diag.SecretsUnguarded, t.Secrets[0].At,
			"Kubernetes %s has no ValidatingAdmissionPolicies, and people of `%s` write Secrets", c.Version.V, t.Name.V).
			Also(c.Version.At, "the version").Helpf("use version 1.30 or later, or remove `people.secrets`")
	}
}
