// Package diag is about diagnostics as data: what is wrong, where, and what to do. Stages collect them in a List and go
// on; rendering is separate (text.go for people, json.go, github.go and package sarif for tools). Renderers trust no span: whatever
// stages report, what is written lies inside the file (place.go).
//
// How a message is written: lower case, no full stop, user text in back-ticks, it says what is allowed. The primary span is
// the smallest wrong token. One mistake has one message. Notes are facts, help is an action.
package diag

import (
	"fmt"
	"slices"
	"sort"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Severity reports whether output may be written.
type Severity string

// The severities. An Error stops the build; a Warning does not.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one finding.
type Diagnostic struct {
	Code     Code
	Severity Severity
	Message  string
	// Span is the smallest wrong token.
	Span source.Span
	// Related are other places that matter, for example the first of two equal names.
	Related []Related
	// Notes are facts.
	Notes []string
	// Help is what to do.
	Help []string
	// Edit is what to write instead, where that is known; nil otherwise.
	Edit *Edit
	// Secret says that the line of Span holds one: nobody may show it.
	Secret bool
	// Waived is set where a spec accepts the finding: it is shown, and counts neither as an error nor as a warning.
	Waived *Waiver
}

// Waiver is why a finding is accepted, and the last day on which it is, as 2027-03-31.
type Waiver struct {
	Reason, Until string
}

// Related is a place and what is there.
type Related struct {
	Span    source.Span
	Message string
}

// Also adds a related place.
func (d *Diagnostic) Also(span source.Span, format string, args ...any) *Diagnostic {
	d.Related = append(d.Related, Related{Span: span, Message: fmt.Sprintf(format, args...)})
	return d
}

// Notef adds a fact.
func (d *Diagnostic) Notef(format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
	return d
}

// Helpf adds an action.
func (d *Diagnostic) Helpf(format string, args ...any) *Diagnostic {
	d.Help = append(d.Help, fmt.Sprintf(format, args...))
	return d
}

// List collects diagnostics. The zero List is empty and ready.
type List struct {
	// Docs is the address of the pages about codes, as a Cluster has it; empty for none.
	Docs  string
	items []*Diagnostic
}

// Errorf adds an error and returns it, so that the caller can add places, notes and help.
func (l *List) Errorf(code Code, span source.Span, format string, args ...any) *Diagnostic {
	return l.add(&Diagnostic{Code: code, Severity: Error, Message: fmt.Sprintf(format, args...), Span: span})
}

// Warnf adds a warning and returns it.
func (l *List) Warnf(code Code, span source.Span, format string, args ...any) *Diagnostic {
	return l.add(&Diagnostic{Code: code, Severity: Warning, Message: fmt.Sprintf(format, args...), Span: span})
}

// AddCopies adds what others found, as copies: waiving one here waives none there.
func (l *List) AddCopies(found []*Diagnostic) {
	for _, d := range found {
		own := *d
		l.add(&own)
	}
}

func (l *List) add(d *Diagnostic) *Diagnostic {
	l.items = append(l.items, d)
	return d
}

// Len returns the number of findings so far, before Sorted joins equal ones. It only ever grows.
func (l *List) Len() int { return len(l.items) }

// Since returns the findings after the first n, in the order in which they were found.
func (l *List) Since(n int) []*Diagnostic { return l.items[n:] }

// Errors returns the number of errors that Sorted has.
func (l *List) Errors() int { return l.count(Error) }

// Unreadable reports whether there are errors by which it is not known what the specs mean, or by which they must not be shown, as secrets: others
// are judgements about specs that compile.
func (l *List) Unreadable() bool {
	return slices.ContainsFunc(l.items, func(d *Diagnostic) bool {
		return d.Severity == Error && d.Waived == nil && (!d.Code.IsOfRuleOrProof() || d.Secret)
	})
}

// Warnings returns the number of warnings that Sorted has.
func (l *List) Warnings() int { return l.count(Warning) }

func (l *List) count(severity Severity) int {
	n := 0
	for _, d := range l.Sorted() {
		if d.Severity == severity && d.Waived == nil {
			n++
		}
	}
	return n
}

// Sorted returns the diagnostics by place, then code, then message. A finding that several clusters share is there once; it is waived
// if it is waived on all of them. Of many with one code at one place, one is there and tells of the others.
func (l *List) Sorted() []*Diagnostic {
	sorted := append([]*Diagnostic(nil), l.items...)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		return sortsBefore(a, b) || !sortsBefore(b, a) && a.Waived == nil && b.Waived != nil
	})
	unique := sorted[:0]
	for i, d := range sorted {
		if i == 0 || sortsBefore(sorted[i-1], d) {
			unique = append(unique, d)
		}
	}
	return foldByCause(unique, placeCauseOf, otherWordsNote)
}

func sortsBefore(a, b *Diagnostic) bool {
	switch {
	case a.Span.Before(b.Span):
		return true
	case b.Span.Before(a.Span):
		return false
	case a.Code != b.Code:
		return a.Code < b.Code
	}
	return a.Message < b.Message
}
