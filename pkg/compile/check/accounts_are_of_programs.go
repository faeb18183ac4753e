package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// accountsAreOfPrograms refuses accounts that several programs share, or that the platform has, and warns of accounts of
// another tenant.
func accountsAreOfPrograms(c *plan.Cluster, list *diag.List) {
	owners := map[string]*plan.Tenant{}
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			owners[namespace.V] = t
		}
	}
	for _, t := range c.Tenants {
		for _, who := range t.SubjectsOfRoles() {
			if who.V.Kind != plan.ServiceAccountKind {
				continue
			}
			name, owner := who.V.Namespace+"/"+who.V.Name, owners[who.V.Namespace]
			if why := sharedAccount(c, who.V, owner != nil); why != "" {
				list.Errorf(diag.AccountOfPlatform, who.At, "the account `%s` %s", name, why).
					Helpf("make an account for the program, and name that")
			} else if owner != nil && owner != t {
				list.Warnf(diag.AccountOfOthers, who.At, "the account `%s` belongs to the tenant `%s`, and would act for `%s`",
					name, owner.Name.V, t.Name.V).
					Also(owner.Name.At, "the other tenant is defined here").
					Helpf("name an account of a namespace of `%s`, or accept it with a waiver", t.Name.V)
			}
		}
	}
}

// sharedAccount returns the reason why an account does not belong to one program of a tenant, or "".
func sharedAccount(c *plan.Cluster, account plan.Subject, ofTenant bool) string {
	isIts := func(own plan.Value[string]) bool { return own.V == account.Namespace }
	switch {
	case account.Name == "default":
		return "belongs to every pod of its namespace that names no account"
	case ofTenant && slices.Contains(jobAccounts, account.Name):
		return "belongs to the pods of jobs"
	case isReservedNamespace(account.Namespace), operators[account.Namespace] != "",
		account.Namespace == c.DNS.Namespace.V, isEngineNamespace(c, account.Namespace),
		slices.ContainsFunc(c.PlatformNamespaces(), isIts):
		return "belongs to the platform, which acts for all tenants"
	}
	return ""
}

// jobAccounts are the accounts with which pods of jobs run.
var jobAccounts = []string{"mpi", "mpi-rdma"}
