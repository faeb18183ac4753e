package group

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Waiver is a waiver as a spec has it, whether it accepts something or not.
type Waiver struct {
	// Owner is the spec that has it: `cluster hpc`, `tenant vision`.
	Owner string
	// Code is what it accepts, About a word of the findings that are meant; "" means all.
	Code, About string
	// Reason is why, Until the last day, as 2027-06-30.
	Reason, Until string
	At            source.Span
}

// WaiverChangeKind is what becomes of a waiver. The list is closed.
type WaiverChangeKind string

// What becomes of waivers, what accepts more first.
const (
	// WaiverAdded is a waiver that was not there before.
	WaiverAdded WaiverChangeKind = "added"
	// WaiverExtended holds longer than before.
	WaiverExtended WaiverChangeKind = "extended"
	// WaiverWidened is about all findings with its code, and was about some.
	WaiverWidened WaiverChangeKind = "widened"
	// WaiverNarrowed is about some findings, and was about all.
	WaiverNarrowed WaiverChangeKind = "narrowed"
	// WaiverReworded has another reason.
	WaiverReworded WaiverChangeKind = "reworded"
	// WaiverShortened ends sooner than before.
	WaiverShortened WaiverChangeKind = "shortened"
	// WaiverExpired is over on the day of the comparison, changed or not.
	WaiverExpired WaiverChangeKind = "expired"
	// WaiverRemoved is a waiver that is gone.
	WaiverRemoved WaiverChangeKind = "removed"
)

// WaiverChangeKinds returns all.
func WaiverChangeKinds() []WaiverChangeKind {
	return []WaiverChangeKind{WaiverAdded, WaiverWidened, WaiverExtended, WaiverReworded, WaiverNarrowed, WaiverShortened, WaiverExpired, WaiverRemoved}
}

// WaiverChange is a waiver that differs, or that has expired.
type WaiverChange struct {
	How WaiverChangeKind
	// Waiver is as it is afterwards, or as it was where it is removed.
	Waiver
	// Before is as it was, nil where it is added or removed.
	Before *Waiver
}

// Accepts reports whether the waiver accepts more than before.
func (c *WaiverChange) Accepts() bool {
	return c.How == WaiverAdded || c.How == WaiverWidened || c.How == WaiverExtended
}

// waiverID is what a waiver is told by: two of one spec for the same findings are one that was changed.
type waiverID struct{ owner, code, about string }

func (w *Waiver) id() waiverID { return waiverID{w.Owner, w.Code, w.About} }

// WaiverChanges compares what specs accept. Today is the day of the comparison; "" is none, on which nothing has expired. It takes no
// proof: what a waiver really accepts is in Findings.Waived, for callers that prove both states.
func WaiverChanges(before, after []Waiver, today string) []WaiverChange {
	left := map[waiverID][]Waiver{}
	for _, w := range before {
		left[w.id()] = append(left[w.id()], w)
	}
	var changes []WaiverChange
	for _, w := range after {
		change := WaiverChange{Waiver: w}
		if old := left[w.id()]; len(old) > 0 {
			i := max(0, slices.IndexFunc(old, func(o Waiver) bool { return o.Until == w.Until && o.Reason == w.Reason }))
			was := old[i]
			change.Before, left[w.id()] = &was, slices.Delete(old, i, i+1)
		}
		changes = append(changes, change)
	}
	for i := range changes {
		changes[i].findWidened(left)
		changes[i].How = changes[i].changeKind(today)
	}
	changes = slices.DeleteFunc(changes, func(c WaiverChange) bool { return c.How == "" })
	for _, gone := range left {
		for _, w := range gone {
			changes = append(changes, WaiverChange{How: WaiverRemoved, Waiver: w})
		}
	}
	slices.SortStableFunc(changes, func(a, b WaiverChange) int {
		return cmp.Or(
			cmp.Compare(slices.Index(WaiverChangeKinds(), a.How), slices.Index(WaiverChangeKinds(), b.How)),
			strings.Compare(a.Owner, b.Owner), strings.Compare(a.Code, b.Code), strings.Compare(a.About, b.About), strings.Compare(a.Until, b.Until), strings.Compare(a.Reason, b.Reason),
		)
	})
	return changes
}

// findWidened finds what a waiver was before that is about all findings with its code, or was.
func (c *WaiverChange) findWidened(left map[waiverID][]Waiver) {
	if c.Before != nil {
		return
	}
	for id, old := range left {
		if id.owner == c.Owner && id.code == c.Code && (id.about == "") != (c.About == "") && len(old) > 0 {
			if c.Before == nil || strings.Compare(id.about, c.Before.About) < 0 {
				c.Before = &old[0]
			}
		}
	}
	if c.Before != nil {
		was := *c.Before
		c.Before, left[was.id()] = &was, slices.DeleteFunc(left[was.id()], func(w Waiver) bool { return w == was })
	}
}

// changeKind says what becomes of a waiver that is there afterwards, "" for nothing.
func (c *WaiverChange) changeKind(today string) WaiverChangeKind {
	switch {
	case today != "" && c.Until < today:
		return WaiverExpired
	case c.Before == nil:
		return WaiverAdded
	case c.About == "" && c.Before.About != "":
		return WaiverWidened
	case c.Until != c.Before.Until && c.Until > c.Before.Until:
		return WaiverExtended
	case c.About != c.Before.About:
		return WaiverNarrowed
	case c.Until != c.Before.Until:
		return WaiverShortened
	case c.Reason != c.Before.Reason:
		return WaiverReworded
	}
	return ""
}
