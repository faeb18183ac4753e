package check

import (
	"regexp"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// placeholder is a name that a template or a guide has in the place of a real one.
var placeholder = regexp.MustCompile(`(?i)^(todo|tbd|fixme|change-?me|your-.*|<.*>|.*(\{\{|\$\{|%s).*)$`)

// groupsAreGroups warns of mail addresses among names of groups, and of placeholders. Where all groups have addresses
// the identity provider names them so.
func groupsAreGroups(c *plan.Cluster, list *diag.List) {
	var groups, addresses []*plan.Value[plan.Subject]
	for _, t := range c.Tenants {
		for _, group := range t.GroupsOfRoles() {
			groups = append(groups, group)
			if strings.Contains(strings.Trim(group.V.Name, "@"), "@") {
				addresses = append(addresses, group)
			}
			if placeholder.MatchString(group.V.Name) {
				list.Warnf(diag.NotAGroup, group.At, "`%s` is a placeholder, and no group", group.V.Name).
					Helpf("write the name that the identity provider has for the group")
			}
		}
	}
	for _, group := range addresses {
		if len(addresses) < len(groups) {
			list.Warnf(diag.NotAGroup, group.At, "`%s` is a mail address, and other groups have names", group.V.Name).
				Helpf("write `{user: %s}` for one person, or the name of a group", group.V.Name)
		}
	}
}
