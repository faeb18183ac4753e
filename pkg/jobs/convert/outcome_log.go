package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// OutcomeClass is what became of a value of an MPIJob.
type OutcomeClass string

// The classes, in the order in which a report has them.
const (
	// Carried means that the TrainJob says the same.
	Carried OutcomeClass = "carried"
	// ByRuntime means that the runtime, or the platform, has it.
	ByRuntime OutcomeClass = "runtime"
	// Differs means that the job runs, and something is not as it was.
	Differs OutcomeClass = "differs"
	// NotPossible means that somebody has to decide: the value is not in what came out.
	NotPossible OutcomeClass = "notPossible"
	// LeftOut are values that a cluster wrote and no person.
	LeftOut OutcomeClass = "leftOut"
)

// Classes returns all classes in the order of a report.
func Classes() []OutcomeClass {
	return []OutcomeClass{Carried, ByRuntime, Differs, NotPossible, LeftOut}
}

// Title returns the class in words.
func (c OutcomeClass) Title() string {
	return map[OutcomeClass]string{
		Carried: "carried over", ByRuntime: "carried by the runtime", Differs: "behaves differently",
		NotPossible: "not possible", LeftOut: "left out: written by the cluster",
	}[c]
}

// Outcome is what became of one value, or of several below one path.
type Outcome struct {
	Class OutcomeClass
	// From is the path in the MPIJob, as kubectl writes it.
	From string
	// Value is what stands there, shortened; empty for what holds other values, `default` where nothing is written.
	Value string
	// To is the path in the TrainJob, or in the spec that is named; empty where it is nowhere.
	To string
	// Note says what differs, why, and what to do.
	Note string
	At   source.Span
}

// outcomeLog knows of every value of an MPIJob whether somebody said what became of it.
type outcomeLog struct {
	*yamlDocument
	entries []Outcome
	claimed []string
}

// add says what became of a path; nothing is said about a path at which nothing is written.
func (l *outcomeLog) add(class OutcomeClass, path, to, format string, args ...any) {
	if !l.hasPath(path) {
		return
	}
	l.entries = append(l.entries, Outcome{Class: class, From: path, Value: l.shownValue(path), To: to, Note: fmt.Sprintf(format, args...), At: l.placeOf(path)})
	l.claimed = append(l.claimed, path)
}

// addDefault says it of a path whose default counts where nothing is written.
func (l *outcomeLog) addDefault(class OutcomeClass, path, to, format string, args ...any) {
	if l.hasPath(path) {
		l.add(class, path, to, format, args...)
		return
	}
	l.entries = append(l.entries, Outcome{Class: class, From: path, Value: "default", To: to, Note: fmt.Sprintf(format, args...), At: l.placeOf(path)})
}

// longest is how many characters of a value a report shows.
const longest = 60

func (l *outcomeLog) shownValue(path string) string {
	value, leaf := l.values[path]
	if !leaf {
		return ""
	}
	runes := []rune(value)
	if len(runes) > longest {
		runes = append(runes[:longest-1], '…')
	}
	if text := string(runes); strconv.Quote(text) != `"`+text+`"` {
		return strconv.Quote(text)
	}
	return string(runes)
}

// closeWithUnclaimed reports what nobody has claimed: as one entry for the largest part of which nothing is claimed.
func (l *outcomeLog) closeWithUnclaimed(unknown []string) []Outcome {
	for _, path := range unknown {
		l.entries = append(l.entries, Outcome{
			Class: NotPossible, From: path, Value: l.shownValue(path), At: l.placeOf(path),
			Note: "no field of this version of MPIJob, and so without effect until now: remove it, or correct its name",
		})
		l.claimed = append(l.claimed, path)
	}
	for _, leaf := range l.leaves {
		if !l.isClaimed(leaf) {
			part := l.largestUnclaimed(leaf)
			l.add(NotPossible, part, "", "neither a TrainJob nor a runtime can say it: build it into the image or the command, or do without")
		}
	}
	slices.SortStableFunc(l.entries, func(a, b Outcome) int {
		order := Classes()
		return cmp.Or(cmp.Compare(slices.Index(order, a.Class), slices.Index(order, b.Class)), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return l.entries
}

func (l *outcomeLog) isClaimed(leaf string) bool {
	return slices.ContainsFunc(l.claimed, func(path string) bool { return isWithinPath(leaf, path) })
}

// largestUnclaimed is the largest value around a leaf of which nothing is claimed.
func (l *outcomeLog) largestUnclaimed(leaf string) string {
	part := leaf
	for above := parentPath(leaf); above != "" && !slices.ContainsFunc(l.claimed, func(path string) bool { return isWithinPath(path, above) }); above = parentPath(above) {
		if _, found := l.places[above]; found {
			part = above
		}
	}
	return part
}
