package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// tenantRoles are the roles that specs give the people of a tenant, the weakest first, with the words for those who have them.
var tenantRoles = []struct{ role, called string }{
	{"lockstep-tenant-viewer", "viewer"}, {"lockstep-tenant-editor", "editor"}, {"lockstep-tenant-admin", "admin"},
}

// strongestRole is the strongest of these roles that a subject holds, -1 for none.
func strongestRole(held *access.Holding) int {
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

// readerPrefix begins the bindings by which the people of a tenant read the runtimes of the catalog.
const readerPrefix = "lockstep-runtime-reader-"

// readsCatalogAnyway reports whether a group reads the catalog before and after as the people of another tenant, whose objects need not be
// compared.
func (c *Cluster) readsCatalogAnyway(h holder, causes []*match.Change) bool {
	if !isOfCatalog(causes) {
		return false
	}
	var tenants []string
	for _, change := range causes {
		tenants = append(tenants, c.tenantOf(change.Object()))
	}
	var before, after bool
	for i := range c.tenants {
		if t := &c.tenants[i]; slices.Contains(t.Groups, h.Name) && !slices.Contains(tenants, t.Name) {
			before, after = before || t.Before, after || !t.Before
		}
	}
	return h.Kind == "Group" && h.namespace == "" && before && after
}

// isOfCatalog reports whether people read the catalog of runtimes by some changes, which tells them nothing of any tenant.
func isOfCatalog(causes []*match.Change) bool {
	return !slices.ContainsFunc(causes, func(change *match.Change) bool {
		return !strings.HasPrefix(change.Object().ID.Name, readerPrefix) || isForeignObject(change.Object())
	})
}

// roleChange is the role of a tenant that a subject gains or loses, "" for none: people know roles better than rights.
func (c *Cluster) roleChange(h holder, consequence Consequence) string {
	before, after := strongestRole(c.was.holdings()[h]), strongestRole(c.is.holdings()[h])
	switch {
	case c.ownerOfNamespace(h.namespace) == "":
	case consequence == WidensAccess && after > before:
		return tenantRoles[after].called
	case consequence == NarrowsAccess && after < before:
		return tenantRoles[before].called
	}
	return ""
}
