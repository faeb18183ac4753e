package semdiff

import "strings"

// handedOver are the tenants that a namespace belonged to and belongs to, where another one has it now.
func (c *cluster) handedOver(namespace string) (from, to string, moved bool) {
	was, is := c.was.namespaces[namespace], c.is.namespaces[namespace]
	if was == nil || is == nil || was.tenant == "" || is.tenant == "" || was.tenant == is.tenant {
		return "", "", false
	}
	return was.tenant, is.tenant, true
}

// otherTenant is an object that belongs to another tenant: a namespace goes with all that is in it, and its objects with it.
func (c *cluster) otherTenant(change *Change) Effect {
	part := []*Change{change}
	id := change.After.ID
	name := id.Namespace
	if id.Kind == "Namespace" {
		name = id.Name
	}
	from, to, moved := c.handedOver(name)
	switch {
	case moved && id.Kind == "Namespace":
		detail, rest := shown(change), "from "+from+" to "+to+", with everything in it"
		if volumes := c.volumesOf(name); volumes != "" {
			detail, rest = detail+", with the volumes "+volumes, "from "+from+" to "+to+", with the data of its volumes "+volumes
		}
		return c.effect(part, AdmitsMore, Critical, "a namespace goes to another tenant, whose people get all that is in it", detail).
			withOf("namespace "+name, "go", rest).to(Hampered).helped("take away what the other tenant must not have before this is merged: data, Secrets, running jobs")
	case moved:
		return c.effect(part, AdmitsMore, Warning, "an object belongs to another tenant", shown(change)).to(Hampered)
	}
	return c.effect(part, AdmitsMore, Critical, "an object belongs to another tenant", shown(change)).with("get", "objects of another tenant").to(Hampered)
}

// volumesOf names the volumes that a namespace had, with their sizes.
func (c *cluster) volumesOf(namespace string) string {
	var names []string
	for _, claim := range c.was.claims[namespace] {
		names = append(names, claim.name+" ("+claim.size+")")
	}
	return strings.Join(distinct(names), ", ")
}
