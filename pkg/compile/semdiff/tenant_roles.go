package semdiff

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// tenantRoles are the roles that specs give the people of a tenant, the weakest first, with the words for whoever has them.
var tenantRoles = []struct{ role, called string }{
	{"lockstep-tenant-viewer", "viewer"}, {"lockstep-tenant-editor", "editor"}, {"lockstep-tenant-admin", "admin"},
}

// tenantRole is the strongest of these roles that somebody holds, -1 for none.
func tenantRole(held *access.Holding) int {
	if held == nil {
		return -1
	}
	strongest := -1
	for i := range tenantRoles {
		if slices.Contains(held.Roles, tenantRoles[i].role) {
			strongest = i
		}
	}
	return strongest
}

// roleChange is the role of a tenant that somebody gains or loses, "" for none: people know roles better than rights.
func (c *cluster) roleChange(h holder, consequence Consequence) string {
	before, after := tenantRole(c.was.holdings()[h]), tenantRole(c.is.holdings()[h])
	switch {
	case c.owner(h.namespace) == "":
	case consequence == WidensAccess && after > before:
		return tenantRoles[after].called
	case consequence == NarrowsAccess && after < before:
		return tenantRoles[before].called
	}
	return ""
}
