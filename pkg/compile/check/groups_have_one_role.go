package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// groupsHaveOneRole warns of people in two roles of a tenant: the stronger role has all rights of the weaker one.
func groupsHaveOneRole(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		stronger := map[plan.Subject]*plan.Value[plan.Subject]{}
		for _, role := range []struct {
			name   string
			people []plan.Value[plan.Subject]
		}{{"admins", t.Admins}, {"editors", t.Editors}, {"viewers", t.Viewers}} {
			for i := range role.people {
				who := &role.people[i]
				if other := stronger[who.V]; other != nil {
					list.Warnf(diag.SettingInVain, who.At, "`%s` in `%s` has no effect: a stronger role has it, too", who.V.Name,
						role.name).Also(other.At, "the stronger role").Helpf("remove it from the role that is not meant")
					continue
				}
				stronger[who.V] = who
			}
		}
	}
}
