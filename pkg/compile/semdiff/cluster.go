package semdiff

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// cluster is one cluster that is compared.
type cluster struct {
	name string
	// was and is are what is kept of both sides.
	was, is *state
	// seen says which sides have units.
	seen [2]bool
	// added and removed are objects that one side of a unit has; they may be found in another unit, or under another name.
	added, removed []*Change
	// waiting are the changes of rules that look at whole clusters.
	waiting map[*Rule][]*Change
	// tenants are those that the caller told.
	tenants       map[string]*Tenant
	before, after *Facts
	totals        Totals
	// touched are the objects that differ.
	touched int
	// emit takes effects.
	emit func(Effect)
	// lines are those from which values come that differ.
	lines *rows
	// ranges are the addresses of pods and Services, as far as the caller told them; removals are the objects that patches remove.
	ranges   []netip.Prefix
	removals object.Removals
	// kept are changes of what a GitOps engine keeps.
	kept [][]*Change
	// selected are the tenants whose namespaces a selector selects, by its text.
	selected map[string][]string
	// bindings are changes of what role a binding gives.
	bindings []*Change
}

func newCluster(name string) *cluster {
	return &cluster{name: name, was: newState(), is: newState(), waiting: map[*Rule][]*Change{}, tenants: map[string]*Tenant{}, lines: newRows(), selected: map[string][]string{}}
}

func (c *cluster) know(t Tenant) {
	known := c.tenants[t.Name]
	if known == nil {
		known = &Tenant{Name: t.Name}
		c.tenants[t.Name] = known
	}
	known.Namespaces = distinct(append(known.Namespaces, t.Namespaces...))
	known.Runtimes = distinct(append(known.Runtimes, t.Runtimes...))
}

// unit compares one unit and forgets it.
func (c *cluster) unit(to *Comparison, unit string, before, after []object.Object) {
	c.emit = to.groups.add
	c.seen[0], c.seen[1] = c.seen[0] || before != nil, c.seen[1] || after != nil
	if identical(before, after) {
		c.totals.Objects += len(after)
		addSame(c.was, c.is, after)
		return
	}
	c.was.add(before)
	c.is.add(after)
	changes := c.pairs(unit, before, after)
	c.claim(&scope{cluster: c, unit: unit}, changes)
}

// pairs returns what is different in the objects that both sides have, and puts aside the others.
func (c *cluster) pairs(unit string, before, after []object.Object) []*Change {
	var changes []*Change
	setting, released := settingOf(before, after), ruleOf(before) != nil && ruleOf(after) != nil
	old := match(before, after)
	for i := range after {
		c.totals.Objects++
		if old[i] < 0 {
			c.added = append(c.added, c.whole(unit, nil, &after[i]).by(setting, released))
			continue
		}
		changes = append(changes, c.compare(unit, &before[old[i]], &after[i], nil)...)
	}
	taken := make([]bool, len(before))
	for _, i := range old {
		if i >= 0 {
			taken[i] = true
		}
	}
	for i := range before {
		if !taken[i] {
			c.totals.Objects++
			c.removed = append(c.removed, c.whole(unit, &before[i], nil).by(setting, released))
		}
	}
	return changes
}

// match returns for each object of the one list the index of that with its identity in the other, or -1.
func match(before, after []object.Object) []int {
	found := make([]int, len(after))
	var index map[object.ID]int
	for i := range after {
		if i < len(before) && before[i].ID == after[i].ID {
			found[i] = i
			continue
		}
		if index == nil {
			index = make(map[object.ID]int, len(before))
			for j := range before {
				index[before[j].ID] = j
			}
		}
		j, known := index[after[i].ID]
		if !known {
			j = -1
		}
		found[i] = j
	}
	return found
}

// compare returns what is different between two states of an object.
func (c *cluster) compare(unit string, before, after *object.Object, r *renaming) []*Change {
	if before.Folder == after.Folder && equal(&before.Root, &after.Root) {
		return nil
	}
	// The objects are copied, so that the changes do not keep their whole units.
	old, later := *before, *after
	d := differ{cluster: c.name, unit: unit, before: &old, after: &later, renamed: r}
	changes := d.changes()
	if len(changes) > 0 {
		c.touched++
		c.totals.Changed++
		c.totals.Values += len(changes)
	}
	return changes
}

// whole is the change that adds or removes an object.
func (c *cluster) whole(unit string, before, after *object.Object) *Change {
	change := &Change{Cluster: c.name, Unit: unit}
	if before != nil {
		old := *before
		change.Before, change.Old, change.From = &old, &old.Root, old.Rule
	}
	if after != nil {
		later := *after
		change.After, change.New, change.To = &later, &later.Root, later.Rule
	} else {
		change.cut = c.removals[change.Before.ID]
	}
	return change
}

// claim gives each change to its rule, and asks those rules that look at units.
func (c *cluster) claim(s *scope, changes []*Change) {
	if len(changes) == 0 {
		return
	}
	byRule := map[*Rule][]*Change{}
	for _, change := range changes {
		c.lines.note(change)
		rule := claimant(change)
		if change.Object().ID.Group == rbacGroup && change.Path.Is("roleRef", "**") {
			// The rule for access looks at it too, whoever tells it.
			c.bindings = append(c.bindings, change)
		}
		if rule.unit == nil {
			c.waiting[rule] = append(c.waiting[rule], change)
			continue
		}
		byRule[rule] = append(byRule[rule], change)
	}
	for _, rule := range rules {
		if mine := byRule[rule]; len(mine) > 0 {
			c.say(rule, rule.unit(s, mine))
		}
	}
}

// claimant is the first rule that claims a change; the last one claims all.
func claimant(change *Change) *Rule {
	if change.Path.Is("apiVersion") && change.Same == "" {
		// It is no version of an API.
		return unclassifiedRule
	}
	if change.withCluster || change.left || change.tenancy() && !change.Renamed() {
		return ownershipRule
	}
	for _, rule := range rules {
		if rule.claims(change) {
			return rule
		}
	}
	return rules[len(rules)-1]
}

func (c *cluster) say(rule *Rule, effects []Effect) {
	for _, e := range effects {
		e.Rule = rule.Name
		e.Subject.Cluster = c.name
		c.emit(e)
	}
}

// finish judges what only the whole cluster can answer.
func (c *cluster) finish(to *Comparison) {
	c.emit = to.groups.add
	c.moved()
	c.findRenames()
	rest := slices.Concat(c.removed, c.added)
	c.withTenants(rest)
	c.totals.Added, c.totals.Removed = c.totals.Added+len(c.added), c.totals.Removed+len(c.removed)
	c.totals.Values += len(rest)
	c.touched += len(rest)
	slices.SortStableFunc(rest, func(a, b *Change) int { return strings.Compare(a.Unit, b.Unit) })
	for at := 0; at < len(rest); {
		end := at
		for end < len(rest) && rest[end].Unit == rest[at].Unit {
			end++
		}
		c.claim(&scope{cluster: c, unit: rest[at].Unit}, rest[at:end])
		at = end
	}
	for _, rule := range rules {
		if rule.cluster != nil {
			c.say(rule, rule.cluster(c, c.waiting[rule]))
		}
	}
	c.say(gitopsRule, c.keepings())
}

// moved finds objects that one unit lost and another one has.
func (c *cluster) moved() {
	at := map[object.ID]int{}
	for i, change := range c.removed {
		at[change.Before.ID] = i
	}
	c.added = slices.DeleteFunc(c.added, func(added *Change) bool {
		i, found := at[added.After.ID]
		if !found || c.removed[i] == nil {
			return false
		}
		c.claim(&scope{cluster: c, unit: added.Unit}, c.compare(added.Unit, c.removed[i].Before, added.After, nil))
		c.removed[i] = nil
		c.totals.Objects--
		return true
	})
	c.removed = slices.DeleteFunc(c.removed, func(change *Change) bool { return change == nil })
}

// scope is the unit whose changes a rule looks at.
type scope struct {
	*cluster
	unit string
}

// isNew says that only the state afterwards has the cluster.
func (c *cluster) isNew() bool { return c.seen[1] && !c.seen[0] }

// subject is whom a change happens to.
func (c *cluster) subject(change *Change) Subject {
	o := change.Object()
	s := Subject{Cluster: c.name, Tenant: c.tenantOf(o), Namespace: o.ID.Namespace, Object: o.ID.String(), Path: change.Path.String()}
	switch o.ID.Kind {
	case "Namespace":
		s.Namespace = o.ID.Name
	case "ClusterTrainingRuntime", "TrainingRuntime":
		s.Runtime = o.ID.Name
	}
	return s
}

// tenantOf is the tenant that an object belongs to, or "".
func (c *cluster) tenantOf(o *object.Object) string {
	if own := o.Root.Scalar("metadata", "labels", mpi.TenantLabel); own != "" {
		return own
	}
	return c.owner(o.ID.Namespace)
}

// owner is the tenant that a namespace belongs to, or "".
func (c *cluster) owner(namespace string) string {
	for _, s := range []*state{c.is, c.was} {
		if n := s.namespaces[namespace]; n != nil && n.tenant != "" {
			return n.tenant
		}
	}
	for _, t := range c.tenants {
		if slices.Contains(t.Namespaces, namespace) {
			return t.Name
		}
	}
	return ""
}

// users are the tenants that may use a runtime, sorted.
func (c *cluster) users(runtime string) []string {
	var names []string
	for _, t := range c.tenants {
		if slices.Contains(t.Runtimes, runtime) {
			names = append(names, t.Name)
		}
	}
	for _, s := range []*state{c.is, c.was} {
		for _, n := range s.namespaces {
			if slices.Contains(n.runtimes, runtime) {
				names = append(names, n.tenant)
			}
		}
	}
	return distinct(names)
}

// report is what the cluster looks like in a Report.
func (c *cluster) report() ClusterReport {
	return ClusterReport{
		Name: c.name, OnlyBefore: c.seen[0] && !c.seen[1], OnlyAfter: c.isNew(),
		Objects: c.totals.Objects, Changed: c.touched, Before: c.before, After: c.after, Quotas: c.quotas(),
	}
}

// distinct sorts names and drops those that are there twice, and the empty one.
func distinct[T cmp.Ordered](list []T) []T {
	var none T
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(item T) bool { return item == none })
}
