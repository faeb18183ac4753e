package semdiff

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// newFindings compares what the compiler said about both sides.
func newFindings(before, after *diag.List) Findings {
	var f Findings
	was, is := remembered(before), remembered(after)
	if after != nil {
		f.Errors = after.Errors()
		for _, d := range after.Sorted() {
			if d.Waived != nil {
				f.Waived = append(f.Waived, newWaived(d, !waivedBefore(before, d)))
			} else if !was[identify(d)] {
				f.New = append(f.New, d)
			}
		}
	}
	if before != nil && after != nil {
		for _, d := range before.Sorted() {
			if d.Waived == nil && !is[identify(d)] {
				f.Fixed = append(f.Fixed, d)
			}
		}
	}
	return f
}

// finding is what a finding is told by. Lines move, so that they are not a part of it.
type finding struct {
	code          diag.Code
	path, message string
	waived        bool
}

func identify(d *diag.Diagnostic) finding {
	return finding{d.Code, d.Span.Path(), d.Message, d.Waived != nil}
}

func remembered(list *diag.List) map[finding]bool {
	known := map[finding]bool{}
	if list != nil {
		for _, d := range list.Sorted() {
			known[identify(d)] = true
		}
	}
	return known
}

func waivedBefore(before *diag.List, d *diag.Diagnostic) bool {
	if before == nil {
		return false
	}
	for _, old := range before.Sorted() {
		if identify(old) == identify(d) && *old.Waived == *d.Waived {
			return true
		}
	}
	return false
}

func newWaived(d *diag.Diagnostic, isNew bool) Waived {
	return Waived{Code: string(d.Code), Message: d.Message, Reason: d.Waived.Reason, Until: d.Waived.Until, At: d.Span, New: isNew}
}

// about returns the waivers of what is found where an entry comes from, those of one reason once.
func (f *Findings) about(e *Entry) []Waived {
	var found []Waived
	for _, w := range f.Waived {
		known := func(other Waived) bool {
			return other.Code == w.Code && other.Reason == w.Reason && other.Until == w.Until && other.New == w.New
		}
		if !e.After.IsZero() && w.At.Path() == e.After.Path() && w.At.Line == e.After.Line && !slices.ContainsFunc(found, known) {
			found = append(found, w)
		}
	}
	return found
}

// opening are the consequences by which something is possible that was not.
var opening = []Consequence{OpensNetwork, WidensAccess, WidensSecurity, AdmitsMore}

// judge gives an entry its waivers. What check would refuse without one is critical, accepted or not: a patch that takes from what a
// cluster enforces.
func (f *Findings) judge(e *Entry) {
	e.Waived = f.about(e)
	weakened := func(w Waived) bool { return w.New && w.Code == string(diag.EnforcementWeakened) }
	if slices.Contains(opening, e.Consequence) && slices.ContainsFunc(e.Waived, weakened) {
		e.Severity = Critical
	}
}
