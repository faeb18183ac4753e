// Package origin says where values come from: a line of a spec, a default, a rule of the compiler, a patch or a chart.
//
// An Origin is made once, where the value is made, and from then on only pointed at: the plan holds those of the specs, a rule
// holds those of its constants. Nothing changes one afterwards.
package origin

import "lockstep.dev/lockstep/pkg/compile/source"

// Origin is where a value comes from.
type Origin struct {
	// At is the place in a spec, for a default the nearest key around it, for a rendered value the file of the chart; nowhere for
	// a constant.
	At   source.Span
	Kind Kind
	// Why says for a default what it is for, for a derived value how it was made, for a constant the rule and its reason.
	Why string
	// Also are more places that the value follows from, where one place is not all of them.
	Also []source.Span
	// Lost are the values that this one overrode, nearest first.
	Lost []Lost
}

// Lost is a value that another one overrode.
type Lost struct {
	Value  string
	Origin *Origin
}

// Kind is a way in which a value comes about.
type Kind uint8

// The kinds. The zero Kind is Written.
const (
	// Written is a value as a spec has it.
	Written Kind = iota
	// Default is a value that holds because nobody wrote another.
	Default
	// Derived is computed from what specs have.
	Derived
	// Constant is the same whatever specs have.
	Constant
	// Patched was changed by a patch.
	Patched
	// Rendered comes from a chart.
	Rendered
)

var kindNames = [...]string{"written", "default", "derived", "constant", "patched", "rendered"}

// String returns the kind's name in small letters.
func (k Kind) String() string { return kindNames[k] }

// Rule returns the origin of what a rule of the compiler always does, a Constant, with the reason.
func Rule(rule, reason string) *Origin {
	return &Origin{Kind: Constant, Why: rule + ": " + reason}
}

// Known reports whether the origin is an answer to `where does this come from`: a place, or a reason where there is none.
func (o *Origin) Known() bool {
	switch {
	case o == nil:
		return false
	case o.Kind == Default || o.Kind == Derived || o.Kind == Constant:
		return o.Why != ""
	}
	return !o.At.IsZero()
}

// Overriding returns the origin with a value that it overrides. What that one had overridden comes after it.
func (o Origin) Overriding(value string, from *Origin) Origin {
	o.Lost = append([]Lost{{Value: value, Origin: from}}, from.Lost...)
	return o
}
