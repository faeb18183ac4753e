// Package match finds what is different between two states of objects: which object is which, which item of a list is which, and what
// means the same in other words.
//
// CompareUnits compares a unit and keeps what differs; JoinUnits puts the units of a cluster together and finds objects that moved or have another
// name. What differs is a Change each: what only moved, or is written in another way, too. The package does not judge: it does not know
// what a Change does to a cluster, and has no words for it.
package match

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Unit is what differs between two states of a unit of a cluster. Objects that are equal are not kept.
type Unit struct {
	Cluster, Name string
	// Objects is how many objects the unit has, each counted once for both states.
	Objects int
	// values are what differs in objects of both states; added and removed the objects that only one has: they may be in another unit, or
	// under another name.
	values         [][]*Change
	added, removed []*Change
	removals       object.Removals
}

// IsEqual reports whether no object differs.
func (u *Unit) IsEqual() bool { return len(u.values)+len(u.added)+len(u.removed) == 0 }

// CompareUnits compares two states of a unit. A state that does not have it is nil. Removals are the objects of the state after that patches
// remove, and by which lines.
func CompareUnits(cluster, name string, before, after []object.Object, removals object.Removals) Unit {
	u := Unit{Cluster: cluster, Name: name, removals: removals}
	settings := settingsOf(before, after)
	old := counterpartIndexes(before, after)
	taken := make([]bool, len(before))
	for i := range after {
		u.Objects++
		if old[i] < 0 {
			u.added = append(u.added, u.wholeObject(nil, &after[i], settings))
			continue
		}
		taken[old[i]] = true
		if changes := changedValues(cluster, name, &before[old[i]], &after[i], nil); len(changes) > 0 {
			for _, c := range changes {
				c.settings = settings
			}
			u.values = append(u.values, changes)
		}
	}
	for i := range before {
		if !taken[i] {
			u.Objects++
			u.removed = append(u.removed, u.wholeObject(&before[i], nil, settings))
		}
	}
	return u
}

// CompareSpecs are the values of a spec that differ, but for order, spelling and defaults. The spec is nil in a state that does not have it.
func CompareSpecs(before, after *object.Object) []*Change {
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil:
		return []*Change{{After: after, New: &after.Root, To: after.Rule}}
	case after == nil:
		return []*Change{{Before: before, Old: &before.Root, From: before.Rule}}
	}
	d := objectDiffer{before: before, after: after}
	return slices.DeleteFunc(d.changes(), func(c *Change) bool {
		was, is := c.Old.Scalar(), c.New.Scalar()
		return c.Same != "" || SameQuantity(was, is) || sameDuration(was, is)
	})
}

// wholeObject is the change that adds or removes an object.
func (u *Unit) wholeObject(before, after *object.Object, settings [][2]source.Span) *Change {
	c := &Change{Cluster: u.Cluster, Unit: u.Name, settings: settings}
	if before != nil {
		old := *before
		c.Before, c.Old, c.From = &old, &old.Root, old.Rule
	}
	if after != nil {
		later := *after
		c.After, c.New, c.To = &later, &later.Root, later.Rule
	}
	return c
}

// changedValues are what is different between two states of an object.
func changedValues(cluster, unit string, before, after *object.Object, r *renaming) []*Change {
	if before.Folder == after.Folder && Equal(&before.Root, &after.Root) {
		return nil
	}
	// The objects are copied, so that the changes do not keep their whole units.
	old, later := *before, *after
	d := objectDiffer{cluster: cluster, unit: unit, before: &old, after: &later, renamed: r}
	return d.changes()
}

// counterpartIndexes returns for each object of the one list the index of that with its identity in the other, or -1.
func counterpartIndexes(before, after []object.Object) []int {
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
