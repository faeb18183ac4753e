package group

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Findings compare what the compiler said about both sides.
type Findings struct {
	// New are those that the change brings, Fixed those that it takes away. Findings are equal by code, file and message.
	New, Fixed []*diag.Diagnostic
	// Errors counts what is wrong after the change: where specs do not compile, nothing else could be compared, and there are no
	// entries; what only the proofs refuse is compared.
	Errors int
	// Uncompiled reports whether a state does not compile, so that nothing else could be compared.
	Uncompiled bool
	// Waived are those that specs accept after the change, new or not.
	Waived []Waived
	// Waivers are those of specs that differ or have expired, whether they accept something or not; those that accept more come first.
	Waivers []WaiverChange
	// Deciding are the files beside the specs that decide about reviews and differ.
	Deciding []DecidingFile
}

// DecidingFile is a file that decides what is reviewed, by whom, or what runs on a pull request: a pipeline, the owners of code.
type DecidingFile struct {
	Path string `json:"path"`
	// How is `added`, `changed` or `removed`.
	How string `json:"change"`
}

// NothingToAccept reports whether check finds nothing wrong, nothing more is accepted than before, and reviews are decided as before.
func (f *Findings) NothingToAccept() bool {
	return f.Errors == 0 && len(f.Deciding) == 0 && !slices.ContainsFunc(f.Waivers, func(w WaiverChange) bool { return w.Accepts() })
}

// Waived is something that a spec accepts, with its reason and the last day on which it does.
type Waived struct {
	Code          string
	Message       string
	Reason, Until string
	At            source.Span
	// New reports whether it was not accepted before the change.
	New bool
}

// FindingsOf compares what the compiler said about both states. Nil is a state that was not compiled.
func FindingsOf(before, after *diag.List) Findings {
	var f Findings
	was, is := knownFindings(before), knownFindings(after)
	if after != nil {
		f.Errors = after.Errors()
		for _, d := range after.Sorted() {
			if d.Waived != nil {
				f.Waived = append(f.Waived, newWaived(d, !waivedBefore(before, d)))
			} else if !was[findingOf(d)] {
				f.New = append(f.New, d)
			}
		}
	}
	if before != nil && after != nil {
		for _, d := range before.Sorted() {
			if d.Waived == nil && !is[findingOf(d)] {
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

func findingOf(d *diag.Diagnostic) finding {
	return finding{d.Code, d.Span.Path(), d.Message, d.Waived != nil}
}

func knownFindings(list *diag.List) map[finding]bool {
	known := map[finding]bool{}
	if list != nil {
		for _, d := range list.Sorted() {
			known[findingOf(d)] = true
		}
	}
	return known
}

func waivedBefore(before *diag.List, d *diag.Diagnostic) bool {
	if before == nil {
		return false
	}
	for _, old := range before.Sorted() {
		if findingOf(old) == findingOf(d) && *old.Waived == *d.Waived {
			return true
		}
	}
	return false
}

func newWaived(d *diag.Diagnostic, isNew bool) Waived {
	return Waived{Code: string(d.Code), Message: d.Message, Reason: d.Waived.Reason, Until: d.Waived.Until, At: d.Span, New: isNew}
}

// waiversAbout returns the waivers of what is found where an entry comes from, those of one reason once.
func (f *Findings) waiversAbout(e *Entry) []Waived {
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
var opening = []rule.Consequence{rule.OpensNetwork, rule.WidensAccess, rule.WidensSecurity, rule.AdmitsMore}

// attachWaivers gives an entry its waivers. What check would refuse without one is critical, accepted or not: a patch that takes from what a
// cluster enforces.
func (f *Findings) attachWaivers(e *Entry) {
	e.Waived = f.waiversAbout(e)
	weakened := func(w Waived) bool { return w.New && w.Code == string(diag.EnforcementWeakened) }
	if slices.Contains(opening, e.Consequence) && slices.ContainsFunc(e.Waived, weakened) {
		e.Severity = rule.Critical
	}
}
