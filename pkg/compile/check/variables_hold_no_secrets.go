package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/secret"
)

// variablesHoldNoSecrets refuses variables that are named as secrets are and have a value: everybody who reads the runtime has it.
func variablesHoldNoSecrets(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Catalog {
		reportSecretVariables(r.Profile.Env, list)
		reportSecretVariables(r.Env, list)
	}
	for _, t := range c.Tenants {
		for _, v := range t.Variants {
			reportSecretVariables(v.Runtime.Env, list)
		}
	}
}

func reportSecretVariables(variables []plan.Variable, list *diag.List) {
	for i := range variables {
		if v := &variables[i]; secret.IsVariable(v.Name.V) && !secret.IsPlain(v.Value.V) && !secret.LooksSecret(v.Value.V) {
			secret.ReportKind(list, v.Value.At, "the value of the variable `"+v.Name.V+"`")
		}
	}
}
