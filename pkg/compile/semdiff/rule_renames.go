package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

var renamesRule = &Rule{
	Name: "renames", Title: "Objects that have another name",
	Doc: "Kubernetes knows no renaming: the object under the old name goes, or stays behind where nothing deletes it, and one under the new name comes. Objects are found again by their " +
		"content, but for names; a tenant or a namespace that is renamed is one entry, whatever the number of its objects. What that costs is told: with a namespace go running jobs " +
		"and, unless it is kept, the data of its volumes; jobs that name the old runtime are refused.",
	Says:   []Consequence{Renames, DeletesData, LeavesObjects, OpensNetwork},
	claims: func(c *Change) bool { return c.Renamed() },
	cluster: func(c *cluster, changes []*Change) []Effect {
		var effects []Effect
		for _, change := range changes {
			effects = append(effects, c.unclosed(change))
			for _, e := range c.renames(change) {
				// It happens to those who had the old name.
				if was := c.tenantOf(change.Before); was != "" {
					e.Subject.Tenant = was
				}
				effects = append(effects, e)
			}
		}
		return slices.DeleteFunc(effects, func(e Effect) bool { return len(e.Changes) == 0 })
	},
}

func (c *cluster) renames(change *Change) []Effect {
	part := []*Change{change}
	before, after := change.Before.ID, change.After.ID
	detail := before.String() + " → " + after.String()
	was, is := c.tenantOf(change.Before), c.tenantOf(change.After)
	stays := c.stays(change.Before)
	become := "its objects go and come again"
	if stays {
		become = "its objects come again, and the old ones stay until somebody deletes them"
	}
	switch {
	case before.Kind == "Namespace":
		return c.renamedNamespace(change, detail)
	case before.Kind == "PersistentVolumeClaim" && !c.goesWithNamespace(before.Namespace):
		return []Effect{c.renamedVolume(change, stays)}
	case was != is && was != "":
		return []Effect{c.effect(part, Renames, Warning, "a tenant has another name: "+become, detail).withOf(was, "are", "renamed to "+is)}
	case before.Namespace != after.Namespace:
		return []Effect{c.effect(part, Renames, Warning, "a namespace has another name: "+become, detail).withOf("namespace "+before.Namespace, "are", "renamed to "+after.Namespace)}
	case isRuntime(change) && stays:
		return []Effect{c.effect(part, Renames, Notice, "a runtime has another name: the old one stays until somebody deletes it", detail).withOf("runtime "+before.Name, "are", "renamed to "+after.Name)}
	case isRuntime(change):
		return []Effect{c.effect(part, Renames, Warning, "a runtime has another name: new jobs that name the old one are refused", detail).withOf("runtime "+before.Name, "are", "renamed to "+after.Name)}
	}
	return []Effect{c.effect(part, Renames, Notice, "objects have another name: "+before.Kind, detail).with("have", "objects with another name")}
}

// renamedVolume is a volume under another name, or in another namespace: the new one is empty.
func (c *cluster) renamedVolume(change *Change, stays bool) Effect {
	size := change.Old.Scalar("spec", "resources", "requests", "storage")
	detail := change.Before.ID.String() + " (" + size + ") → " + change.After.ID.String()
	if stays {
		return c.effect([]*Change{change}, LeavesObjects, Warning, "a volume has another name: the new one is empty, the old one stays with its data", detail).
			with("get", "empty volumes in place of others, whose data stays in the old ones").
			helped("copy the data from the old volume to the new one; then delete the old one by hand: kubectl delete pvc -n " + change.Before.ID.Namespace + " " + change.Before.ID.Name)
	}
	return c.effect([]*Change{change}, DeletesData, Critical, "a volume has another name: the old one is deleted with its data, the new one is empty", detail).
		with("lose", "the data of volumes").to(Hampered)
}

// goesWithNamespace says that a namespace is deleted, which tells what becomes of the volumes in it.
func (c *cluster) goesWithNamespace(name string) bool {
	space := c.was.namespaces[name]
	if space == nil || c.is.namespaces[name] != nil || space.kept || c.byHand() {
		return false
	}
	prunes, known := c.was.sync.prunes(c.name, space.folder)
	return !known || prunes
}

func (c *cluster) renamedNamespace(change *Change, detail string) []Effect {
	part := []*Change{change}
	before, after := change.Before.ID, change.After.ID
	was, is := c.tenantOf(change.Before), c.tenantOf(change.After)
	of, to := "namespace "+before.Name, after.Name
	if was != is && was != "" {
		of, to = was, is
	}
	if c.stays(change.Before) {
		return []Effect{c.effect(part, Renames, Warning, "a namespace has another name: the new one is empty, the old one stays with what nobody deletes in it", detail).
			withOf(of, "are", "renamed to "+to).to(Hampered).helped("let jobs end, copy the data, delete the old namespace by hand")}
	}
	return append(c.lost(change), c.effect(part, Renames, Critical, "a namespace has another name: the old one is deleted with everything in it, running jobs too", detail).
		withOf(of, "are", "renamed to "+to).to(Stopped))
}

// findRenames pairs objects that only one side has: those of tenants and namespaces first, then single ones.
func (c *cluster) findRenames() {
	if len(c.added) == 0 || len(c.removed) == 0 {
		return
	}
	for _, r := range c.renamings() {
		c.pairUp(&r)
	}
	c.pairSingles()
}

// renamings are the tenants and namespaces that may have been renamed. At least half of the objects must be the same but for the names.
func (c *cluster) renamings() []renaming {
	var found []renaming
	taken := map[string]bool{}
	for _, old := range namespacesOf(c.removed) {
		best, most := renaming{}, 0
		for _, later := range namespacesOf(c.added) {
			if taken[later.ID.Name] {
				continue
			}
			r := c.between(old, later)
			if equalOnes, all := c.alike(&r, old.ID.Name, later.ID.Name); equalOnes*2 >= all && equalOnes > most {
				best, most = r, equalOnes
			}
		}
		if most > 0 {
			taken[best.namespace] = true
			found = append(found, best)
		}
	}
	return found
}

func namespacesOf(changes []*Change) []*object.Object {
	var found []*object.Object
	for _, change := range changes {
		if change.Kind() == "Namespace" {
			found = append(found, change.Object())
		}
	}
	slices.SortFunc(found, func(a, b *object.Object) int { return strings.Compare(a.ID.Name, b.ID.Name) })
	return found
}

// between is the renaming of one namespace, and of its tenant.
func (c *cluster) between(old, later *object.Object) renaming {
	r := renaming{namespace: later.ID.Name}
	r.pairs = append(r.pairs, renamed{old.ID.Name, later.ID.Name})
	was, is := old.Root.Scalar("metadata", "labels", mpi.TenantLabel), later.Root.Scalar("metadata", "labels", mpi.TenantLabel)
	if was != is && was != "" && is != "" && was != old.ID.Name && !c.is.has(was) && !c.was.has(is) {
		r.pairs = append(r.pairs, renamed{was, is})
	}
	slices.SortFunc(r.pairs, func(a, b renamed) int { return len(b.from) - len(a.from) })
	return r
}

// alike counts the objects of a namespace that are the same but for the names, and all of them.
func (c *cluster) alike(r *renaming, old, later string) (same, all int) {
	for _, removed := range c.removed {
		if !inside(removed, old) {
			continue
		}
		all++
		if added := c.partner(r, removed); added != nil && inside(added, later) && (&differ{renamed: r}).equal(removed.Old, added.New) {
			same++
		}
	}
	return same, all
}

func inside(c *Change, namespace string) bool {
	id := c.Object().ID
	return id.Namespace == namespace || id.Kind == "Namespace" && id.Name == namespace
}

// partner is the object that has the identity of a removed one after the names were replaced.
func (c *cluster) partner(r *renaming, removed *Change) *Change {
	for _, added := range c.added {
		a, b := removed.Before.ID, added.After.ID
		if a.Kind == b.Kind && a.Group == b.Group && (a.Namespace == b.Namespace || r.same(a.Namespace, b.Namespace)) &&
			(a.Name == b.Name || r.same(a.Name, b.Name)) && a != b {
			return added
		}
	}
	return nil
}

// pairUp joins the objects that a renaming explains: they are renamed, and what else differs is a change of its own.
func (c *cluster) pairUp(r *renaming) {
	var pairs [][2]*Change
	for _, removed := range c.removed {
		if added := c.partner(r, removed); added != nil && !slices.ContainsFunc(pairs, func(p [2]*Change) bool { return p[1] == added }) {
			pairs = append(pairs, [2]*Change{removed, added})
		}
	}
	c.join(pairs, r)
}

func (c *cluster) join(pairs [][2]*Change, r *renaming) {
	if len(pairs) == 0 {
		return
	}
	gone := map[*Change]bool{}
	for _, pair := range pairs {
		removed, added := pair[0], pair[1]
		gone[removed], gone[added] = true, true
		c.totals.Renamed++
		c.totals.Objects--
		c.touched++
		both := &Change{
			Cluster: c.name, Unit: added.Unit, Before: removed.Before, After: added.After, Old: removed.Old, New: added.New, From: removed.From, To: added.To,
		}
		c.totals.Values++
		c.claim(&scope{cluster: c, unit: added.Unit}, append([]*Change{both}, c.compare(added.Unit, removed.Before, added.After, r)...))
	}
	c.removed = slices.DeleteFunc(c.removed, func(change *Change) bool { return gone[change] })
	c.added = slices.DeleteFunc(c.added, func(change *Change) bool { return gone[change] })
}

// pairSingles joins objects of one kind and namespace with equal content but for their name, where there is one such pair only. Kinds
// that hold nothing but their name, such as service accounts, are all alike.
func (c *cluster) pairSingles() {
	var pairs [][2]*Change
	var renamings []renaming
	for _, removed := range c.removed {
		if slices.Contains(plainKinds, removed.Kind()) || removed.Kind() == "Namespace" {
			continue
		}
		if found := c.candidates(removed); len(found) == 1 {
			pairs = append(pairs, [2]*Change{removed, found[0]})
			renamings = append(renamings, renaming{pairs: []renamed{{removed.Before.ID.Name, found[0].After.ID.Name}}})
		}
	}
	for i, pair := range pairs {
		if !slices.ContainsFunc(pairs[:i], func(p [2]*Change) bool { return p[1] == pair[1] }) {
			c.join([][2]*Change{pair}, &renamings[i])
		}
	}
}

func (c *cluster) candidates(removed *Change) []*Change {
	var found []*Change
	for _, added := range c.added {
		a, b := removed.Before.ID, added.After.ID
		if a.Kind != b.Kind || a.Group != b.Group || a.Namespace != b.Namespace {
			continue
		}
		r := &renaming{pairs: []renamed{{a.Name, b.Name}}}
		if (&differ{renamed: r}).equal(removed.Old, added.New) {
			found = append(found, added)
		}
	}
	return found
}
