package check

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// groupsOfOthers warns of editors and admins of a tenant who are people of another one, by the name of their group: it begins with that
// of the other tenant, which names it, too. Groups of several tenants have names of their own, and so have tenants of one team.
func groupsOfOthers(c *plan.Cluster, list *diag.List) {
	type owned struct {
		by    *plan.Tenant
		group *plan.Value[plan.Subject]
	}
	owners := map[string]owned{}
	for _, t := range c.Tenants {
		for _, group := range t.GroupsOfRoles() {
			if strings.HasPrefix(group.V.Name, t.Name.V+"-") {
				owners[group.V.Name] = owned{t, group}
			}
		}
	}
	for _, t := range c.Tenants {
		for _, groups := range [][]plan.Value[plan.Subject]{t.Admins, t.Editors, t.Shell, t.Secrets} {
			for i := range groups {
				group := &groups[i]
				owner := owners[group.V.Name]
				if group.V.Kind != plan.GroupKind || owner.by == nil || owner.by == t || sameTeamByName(t.Name.V, owner.by.Name.V) {
					continue
				}
				list.Warnf(diag.GroupOfOthers, group.At, "`%s`, a group of the tenant `%s`, may run jobs as `%s`", group.V.Name, owner.by.Name.V, t.Name.V).
					Also(owner.group.At, "the other tenant names it here").
					Helpf("write a group of `%s`; where people of both are meant, make a group for them, or accept it with a waiver", t.Name.V)
			}
		}
	}
}

// sameTeamByName reports whether one tenant is called by the name of another one and more: speech-dev beside speech.
func sameTeamByName(a, b string) bool {
	return strings.HasPrefix(a, b+"-") || strings.HasPrefix(b, a+"-")
}
