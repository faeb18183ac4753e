package match

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Cluster is what differs between two states of a cluster.
type Cluster struct {
	// Changes are all, in the order of units; those of objects as a whole come last.
	Changes []*Change
	// Added and Removed are the objects that only one state has, under any name.
	Added, Removed []*Change
	Totals         Totals
	// Touched is how many objects differ.
	Touched int
}

// Totals count.
type Totals struct {
	// Objects is how many objects were compared, each counted once for both states.
	Objects int
	// Added, Removed, Changed and Renamed count objects; Changed are those of which a value differs.
	Added, Removed, Changed, Renamed int
	// Values is how many values differ, an added or removed object being one.
	Values int
}

// Add adds the counts of others.
func (t *Totals) Add(other Totals) {
	t.Objects, t.Added, t.Removed = t.Objects+other.Objects, t.Added+other.Added, t.Removed+other.Removed
	t.Changed, t.Renamed, t.Values = t.Changed+other.Changed, t.Renamed+other.Renamed, t.Values+other.Values
}

// JoinUnits puts the units of a cluster together. It finds the objects that one unit lost and another one has, and those that have another
// name. mayBe reports whether a tenant may be another one under a new name.
func JoinUnits(units []Unit, mayBe func(was, is string) bool) Cluster {
	j := unitJoiner{mayBe: mayBe}
	var removals object.Removals
	for i := range units {
		u := &units[i]
		j.Totals.Objects += u.Objects
		for _, changes := range u.values {
			j.addChanges(changes)
		}
		j.Added, j.Removed = append(j.Added, u.added...), append(j.Removed, u.removed...)
		removals = removals.Join(u.removals)
	}
	for _, c := range j.Removed {
		c.cut = removals[c.Before.ID]
	}
	j.findMoved()
	j.findRenamed()
	whole := slices.Concat(j.Removed, j.Added)
	j.Totals.Added, j.Totals.Removed = len(j.Added), len(j.Removed)
	j.Totals.Values += len(whole)
	j.Touched += len(whole)
	slices.SortStableFunc(whole, func(a, b *Change) int { return strings.Compare(a.Unit, b.Unit) })
	j.Changes = append(j.Changes, whole...)
	return j.Cluster
}

// unitJoiner is a cluster that is put together.
type unitJoiner struct {
	Cluster
	mayBe func(was, is string) bool
}

// addChanges takes the values of an object that differ, if there are some.
func (j *unitJoiner) addChanges(changes []*Change) {
	if len(changes) == 0 {
		return
	}
	j.Touched++
	j.Totals.Changed++
	j.Totals.Values += len(changes)
	j.Changes = append(j.Changes, changes...)
}

// findMoved finds objects that one unit lost and another one has.
func (j *unitJoiner) findMoved() {
	at := map[object.ID]int{}
	for i, c := range j.Removed {
		at[c.Before.ID] = i
	}
	j.Added = slices.DeleteFunc(j.Added, func(added *Change) bool {
		i, found := at[added.After.ID]
		if !found || j.Removed[i] == nil {
			return false
		}
		j.addChanges(changedValues(added.Cluster, added.Unit, j.Removed[i].Before, added.After, nil))
		j.Removed[i] = nil
		j.Totals.Objects--
		return true
	})
	j.Removed = slices.DeleteFunc(j.Removed, func(c *Change) bool { return c == nil })
}

// findRenamed pairs objects that only one state has: those of tenants and namespaces first, then single ones.
func (j *unitJoiner) findRenamed() {
	if len(j.Added) == 0 || len(j.Removed) == 0 {
		return
	}
	for _, r := range j.renamings() {
		j.pairUp(&r)
	}
	j.pairSingles()
}

// renamings are the tenants and namespaces that may have been renamed. At least half of the objects must be the same but for the names.
func (j *unitJoiner) renamings() []renaming {
	var found []renaming
	taken := map[string]bool{}
	for _, old := range namespacesOf(j.Removed) {
		best, most := renaming{}, 0
		for _, later := range namespacesOf(j.Added) {
			if taken[later.ID.Name] {
				continue
			}
			r, may := j.renamingOfNamespace(old, later)
			if !may {
				continue
			}
			if equalOnes, all := j.countSameButNames(&r, old.ID.Name, later.ID.Name); equalOnes*2 >= all && equalOnes > most {
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
	for _, c := range changes {
		if c.Kind() == "Namespace" {
			found = append(found, c.Object())
		}
	}
	slices.SortFunc(found, func(a, b *object.Object) int { return strings.Compare(a.ID.Name, b.ID.Name) })
	return found
}

// renamingOfNamespace is the renaming of one namespace, and of its tenant. There is none between tenants of whom one cannot be the other.
func (j *unitJoiner) renamingOfNamespace(old, later *object.Object) (r renaming, may bool) {
	r.namespace = later.ID.Name
	r.pairs = append(r.pairs, renamedPair{old.ID.Name, later.ID.Name})
	was, is := old.Root.Scalar("metadata", "labels", mpi.TenantLabel), later.Root.Scalar("metadata", "labels", mpi.TenantLabel)
	if was != is && was != "" && is != "" {
		if !j.mayBe(was, is) {
			return r, false
		}
		if was != old.ID.Name {
			r.pairs = append(r.pairs, renamedPair{was, is})
		}
	}
	slices.SortFunc(r.pairs, func(a, b renamedPair) int { return len(b.from) - len(a.from) })
	return r, true
}

// countSameButNames counts the objects of a namespace that are the same but for the names, and all of them.
func (j *unitJoiner) countSameButNames(r *renaming, old, later string) (same, all int) {
	for _, removed := range j.Removed {
		if !isInNamespace(removed, old) {
			continue
		}
		all++
		if added := j.renamedCounterpart(r, removed); added != nil && isInNamespace(added, later) && (&objectDiffer{renamed: r}).equal(removed.Old, added.New) {
			same++
		}
	}
	return same, all
}

func isInNamespace(c *Change, namespace string) bool {
	id := c.Object().ID
	return id.Namespace == namespace || id.Kind == "Namespace" && id.Name == namespace
}

// renamedCounterpart is the object that has the identity of a removed one after the names were replaced.
func (j *unitJoiner) renamedCounterpart(r *renaming, removed *Change) *Change {
	for _, added := range j.Added {
		a, b := removed.Before.ID, added.After.ID
		if a.Kind == b.Kind && a.Group == b.Group && (a.Namespace == b.Namespace || r.isSameText(a.Namespace, b.Namespace)) &&
			(a.Name == b.Name || r.isSameText(a.Name, b.Name)) && a != b {
			return added
		}
	}
	return nil
}

// pairUp joins the objects that a renaming explains: they are renamed, and what else differs is a change of its own.
func (j *unitJoiner) pairUp(r *renaming) {
	var pairs [][2]*Change
	for _, removed := range j.Removed {
		if added := j.renamedCounterpart(r, removed); added != nil && !hasAdded(pairs, added) {
			pairs = append(pairs, [2]*Change{removed, added})
		}
	}
	j.joinRenamed(pairs, r)
}

func hasAdded(pairs [][2]*Change, added *Change) bool {
	return slices.ContainsFunc(pairs, func(p [2]*Change) bool { return p[1] == added })
}

func (j *unitJoiner) joinRenamed(pairs [][2]*Change, r *renaming) {
	gone := map[*Change]bool{}
	for _, pair := range pairs {
		removed, added := pair[0], pair[1]
		gone[removed], gone[added] = true, true
		j.Totals.Renamed++
		j.Totals.Objects--
		j.Totals.Values++
		j.Touched++
		j.Changes = append(j.Changes, &Change{
			Cluster: added.Cluster, Unit: added.Unit, Before: removed.Before, After: added.After, Old: removed.Old, New: added.New, From: removed.From, To: added.To,
		})
		j.addChanges(changedValues(added.Cluster, added.Unit, removed.Before, added.After, r))
	}
	isGone := func(c *Change) bool { return gone[c] }
	j.Removed, j.Added = slices.DeleteFunc(j.Removed, isGone), slices.DeleteFunc(j.Added, isGone)
}

// PlainKinds are those of which nothing but their existence is known to matter. What holds nothing but a name, such as a service account,
// is all alike.
var PlainKinds = []string{"ServiceAccount", "ConfigMap", "Secret", "Service", "AppProject", "GitRepository"}

// pairSingles joins objects of one kind and namespace with equal content but for their name, where there is one such pair only.
func (j *unitJoiner) pairSingles() {
	var pairs [][2]*Change
	for _, removed := range j.Removed {
		if slices.Contains(PlainKinds, removed.Kind()) || removed.Kind() == "Namespace" {
			continue
		}
		if found := j.renameCandidates(removed); len(found) == 1 && !hasAdded(pairs, found[0]) {
			pairs = append(pairs, [2]*Change{removed, found[0]})
		}
	}
	for _, pair := range pairs {
		j.joinRenamed([][2]*Change{pair}, renamingOf(pair[0], pair[1]))
	}
}

func renamingOf(removed, added *Change) *renaming {
	return &renaming{pairs: []renamedPair{{removed.Before.ID.Name, added.After.ID.Name}}}
}

func (j *unitJoiner) renameCandidates(removed *Change) []*Change {
	var found []*Change
	for _, added := range j.Added {
		a, b := removed.Before.ID, added.After.ID
		if a.Kind == b.Kind && a.Group == b.Group && a.Namespace == b.Namespace && (&objectDiffer{renamed: renamingOf(removed, added)}).equal(removed.Old, added.New) {
			found = append(found, added)
		}
	}
	return found
}
