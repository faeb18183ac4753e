package access

import (
	"slices"
	"strconv"
	"strings"
)

// Holding is what a subject may do in a namespace, or in the whole cluster for "", and by which bindings.
type Holding struct {
	Held
	// Roles are the names of the roles, a Role's with its namespace before it, and Bindings those of the bindings that give them; each
	// sorted, each once.
	Roles, Bindings []string
}

// Unknown is the Resource of a Right that stands for all that a role allows which is not known.
const Unknown = "(what the role allows is not known)"

// Holdings returns what everybody may do, sorted by namespace and subject, without judging it: for those who compare two states of a
// cluster. It is called instead of Prove, once, after all facts were added.
func (c *Cluster) Holdings() []Holding {
	if c.roles == nil {
		c.roles = map[roleRef]*role{}
	}
	c.aggregateRoles()
	index := map[holder]int{}
	var list []Holding
	var given [][]*binding
	for i := range c.bindings {
		b := c.bindings[i]
		for _, subject := range b.subjects {
			h := holder{subject, b.namespace}
			at, known := index[h]
			if !known {
				at = len(list)
				index[h] = at
				list, given = append(list, Holding{Held: Held{Subject: subject, Namespace: b.namespace}}), append(given, nil)
			}
			list[at].Roles = append(list[at].Roles, b.role.String())
			list[at].Bindings = append(list[at].Bindings, b.name)
			given[at] = append(given[at], b)
		}
	}
	// Those who have the same roles share their rights.
	sets := map[string][]Right{}
	for i := range list {
		list[i].sortNames()
		key := strings.Join(list[i].Roles, " ") + " in " + strconv.FormatBool(list[i].Namespace == "")
		rights, known := sets[key]
		if !known {
			rights = c.rightsOfBindings(given[i])
			sets[key] = rights
		}
		list[i].Rights = rights
	}
	slices.SortFunc(list, func(a, b Holding) int { return compareHeld(&a.Held, &b.Held) })
	return list
}

// rightsOfBindings is what bindings allow.
func (c *Cluster) rightsOfBindings(bindings []*binding) []Right {
	var rights []Right
	for _, b := range bindings {
		rights = append(rights, c.rightsOfBinding(b)...)
	}
	slices.SortFunc(rights, compareRights)
	return slices.Compact(rights)
}

func (h *Holding) sortNames() {
	slices.Sort(h.Roles)
	h.Roles = slices.Compact(h.Roles)
	slices.Sort(h.Bindings)
	h.Bindings = slices.Compact(h.Bindings)
}

// String returns the name of a ClusterRole, and namespace/name of a Role.
func (r roleRef) String() string {
	if r.namespace == "" {
		return r.name
	}
	return r.namespace + "/" + r.name
}

// rightsOfBinding is what a binding allows. Paths count in bindings to the whole cluster only.
func (c *Cluster) rightsOfBinding(b *binding) []Right {
	known := c.roles[b.role]
	if known == nil || known.bad {
		return []Right{{Verb: all, Resource: Unknown, Name: b.role.String()}}
	}
	if b.namespace == "" {
		return known.rights
	}
	return slices.DeleteFunc(slices.Clone(known.rights), func(r Right) bool { return r.Group == Path })
}

// RightsOfRole returns what a role allows, with what it aggregates; "" is the namespace of a ClusterRole. It is called after Holdings.
func (c *Cluster) RightsOfRole(namespace, name string) []Right {
	if known := c.roles[roleRef{namespace, name}]; known != nil {
		return known.rights
	}
	return nil
}

// RightsBeyond returns the rights that no other right covers.
func RightsBeyond(rights, others []Right) []Right {
	if slices.Equal(rights, others) {
		return nil
	}
	var found []Right
	for _, r := range rights {
		if !slices.ContainsFunc(others, func(other Right) bool { return other.covers(r) }) {
			found = append(found, r)
		}
	}
	return found
}

// SevereReason says why a right is one that breaks the boundaries of tenants or makes its holder more than it is, or "". A right in all groups
// of the API is as severe as the worst that it may be about.
func (r Right) SevereReason() string {
	switch {
	case r.Group == Path:
		// Paths are metrics, profiles and the like: no objects.
		return ""
	case r.Resource == Unknown:
		return "whatever the role allows"
	case r.Verb == all && r.Resource == all:
		return "everything"
	case r.Verb == "bind" && r.Name != "":
		// To bind one role that is known gives no more than the role.
		return ""
	}
	return severeBans.reasonAgainst(r)
}
