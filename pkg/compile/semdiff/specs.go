package semdiff

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Spec compares one spec, as an object whose values come from their lines; nil is a side that does not have it. What the specs say and no
// object has is told by that: without it, a line that changes no object is no change.
func (c *Comparison) Spec(before, after *object.Object) {
	c.specs = append(c.specs, specChanges(before, after)...)
}

// specChanges are the values of a spec that differ, but for order, spelling and defaults.
func specChanges(before, after *object.Object) []*Change {
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil:
		return []*Change{{After: after, New: &after.Root, To: after.Rule}}
	case after == nil:
		return []*Change{{Before: before, Old: &before.Root, From: before.Rule}}
	}
	d := differ{before: before, after: after}
	return slices.DeleteFunc(d.changes(), func(change *Change) bool {
		return change.Same != "" || respelled(change.Old.Scalar(), change.New.Scalar())
	})
}

// respelled says whether two texts are one amount or one duration: 2k and 2e3, 168h and 10080m.
func respelled(was, is string) bool { return sameAmount(was, is) || sameDuration(was, is) }

// row is a line of a file; line 0 is the whole of it.
type row struct {
	path string
	line int
}

// rows are the lines from which values come that differ, before and after.
type rows struct {
	was, is map[row]bool
	// vague are the files of specs behind values that name no line but that of the spec's name.
	vague map[string]bool
	// words are what values say that differ: a line may be behind a value that names another one.
	words map[string]bool
}

func newRows() *rows {
	return &rows{was: map[row]bool{}, is: map[row]bool{}, vague: map[string]bool{}, words: map[string]bool{}}
}

// note remembers the lines of a change.
func (r *rows) note(c *Change) {
	r.side(r.was, c.Before, c.Old, c.From, c.Whole())
	r.side(r.is, c.After, c.New, c.To, c.Whole())
}

func (r *rows) side(lines map[row]bool, o *object.Object, value *object.Node, from *origin.Origin, whole bool) {
	if o == nil || value == nil {
		return
	}
	if whole {
		put(lines, o.Origin)
		// Lines may say whether an object is there, and be behind none of its values.
		r.vague[o.Origin.Path()] = true
	}
	value.Leaves(from, func(_ []string, leaf *object.Node, own *origin.Origin) {
		if len(r.words) < mostWords {
			for _, word := range wordsOf(leaf) {
				r.words[word] = true
			}
		}
		known := len(lines)
		r.origin(lines, own, o.Rule)
		at := own == nil || own.At.IsZero() || placeOf(own.At) == placeOf(o.Origin)
		if at && !whole && len(lines) == known && !o.Origin.IsZero() {
			r.vague[o.Origin.Path()] = true
		}
	})
}

// origin notes the lines that a value comes from, or would. What a chart renders comes from all lines of its values.
func (r *rows) origin(lines map[row]bool, from, rule *origin.Origin) {
	if from == nil {
		return
	}
	put(lines, from.At)
	for _, at := range from.Also {
		put(lines, at)
	}
	for i := range from.Lost {
		r.origin(lines, from.Lost[i].Origin, rule)
	}
	if from.Kind == origin.Rendered && from != rule {
		r.origin(lines, rule, rule)
	}
}

// mostWords is how many words are kept: more are in new clusters only.
const mostWords = 20000

// wordsOf are the words of a text, none of a number.
func wordsOf(n *object.Node) []string {
	if _, _, amount := amounts(n.Text, n.Text); amount || n.Kind != object.TextNode {
		return nil
	}
	return strings.FieldsFunc(n.Text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;:=@"'[](){}`, r) })
}

func put(lines map[row]bool, at source.Span) {
	if !at.IsZero() {
		lines[row{at.Path(), at.Line}] = true
	}
}

// has says whether an object that differs names a line that a change of a spec is about, or says what is new there.
func (r *rows) has(c *Change) bool {
	return r.says(c) || c.Old != nil && standsIn(r.was, c.Old, c.From) || c.New != nil && standsIn(r.is, c.New, c.To)
}

func (r *rows) says(c *Change) bool {
	if c.Whole() || c.New == nil {
		return false
	}
	words := wordsOf(c.New)
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !r.words[word] })
}

func standsIn(lines map[row]bool, value *object.Node, from *origin.Origin) bool {
	found := false
	value.Leaves(from, func(_ []string, _ *object.Node, own *origin.Origin) {
		found = found || own != nil && (lines[row{own.At.Path(), own.At.Line}] || lines[row{own.At.Path(), 0}])
	})
	return found
}

// add takes all of others.
func (r *rows) add(others *rows) {
	for line := range others.was {
		r.was[line] = true
	}
	for line := range others.is {
		r.is[line] = true
	}
	for file := range others.vague {
		r.vague[file] = true
	}
	for word := range others.words {
		r.words[word] = true
	}
}

// specSpans are the places of a value of a spec on both sides, nowhere where nobody wrote it.
func specSpans(c *Change) (before, after source.Span) {
	before, after = c.Spans()
	if c.From != nil && c.From.Kind == origin.Default && !after.IsZero() {
		before = source.Span{}
	}
	if c.To != nil && c.To.Kind == origin.Default && !before.IsZero() {
		after = source.Span{}
	}
	return before, after
}

// written is a change of a spec as people read it, with its line: `tenants/speech.yaml:14: quota.cpu: 800 → 900`.
func written(c *Change) string {
	before, at := specSpans(c)
	if at.IsZero() {
		at = before
	}
	text := shown(c)
	switch {
	case c.Whole() && c.Added():
		text = c.Kind() + " " + c.Object().ID.Name + " is new"
	case c.Whole():
		text = c.Kind() + " " + c.Object().ID.Name + " is gone"
	}
	if at.IsZero() {
		return text
	}
	return at.Path() + ":" + strconv.Itoa(at.Line) + ": " + text
}
