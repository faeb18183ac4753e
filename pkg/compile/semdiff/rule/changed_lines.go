package rule

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// fileLine is a line of a file; line 0 is the whole of it.
type fileLine struct {
	path string
	line int
}

// ChangedLines are the lines from which values come that differ, before and after.
type ChangedLines struct {
	was, is map[fileLine]bool
	// vague are the files of specs behind values that name no line but that of the spec's name.
	vague map[string]bool
	// words are what values say that differ: a line may be behind a value that names another one.
	words map[string]bool
}

// NewChangedLines returns none.
func NewChangedLines() *ChangedLines {
	return &ChangedLines{was: map[fileLine]bool{}, is: map[fileLine]bool{}, vague: map[string]bool{}, words: map[string]bool{}}
}

// Note remembers the lines of changes.
func (l *ChangedLines) Note(changes []*match.Change) {
	for _, c := range changes {
		l.noteSide(l.was, c.Before, c.Old, c.From, c.Whole())
		l.noteSide(l.is, c.After, c.New, c.To, c.Whole())
	}
}

func (l *ChangedLines) noteSide(lines map[fileLine]bool, o *object.Object, value *object.Node, from *origin.Origin, whole bool) {
	if o == nil || value == nil {
		return
	}
	if whole {
		addLine(lines, o.Origin)
		// Lines may report whether an object is there, and be behind none of its values.
		l.vague[o.Origin.Path()] = true
	}
	value.Leaves(from, func(_ []string, leaf *object.Node, own *origin.Origin) {
		if len(l.words) < maxWords {
			for _, word := range wordsOf(leaf) {
				l.words[word] = true
			}
		}
		known := len(lines)
		l.noteOrigin(lines, own, o.Rule)
		at := own == nil || own.At.IsZero() || match.PositionOf(own.At) == match.PositionOf(o.Origin)
		if at && !whole && len(lines) == known && !o.Origin.IsZero() {
			l.vague[o.Origin.Path()] = true
		}
	})
}

// noteOrigin notes the lines that a value comes from, or would. What a chart renders comes from all lines of its values.
func (l *ChangedLines) noteOrigin(lines map[fileLine]bool, from, rule *origin.Origin) {
	if from == nil {
		return
	}
	addLine(lines, from.At)
	for _, at := range from.Also {
		addLine(lines, at)
	}
	for i := range from.Lost {
		l.noteOrigin(lines, from.Lost[i].Origin, rule)
	}
	if from.Kind == origin.Rendered && from != rule {
		l.noteOrigin(lines, rule, rule)
	}
}

// maxWords is how many words are kept: more are in new clusters only.
const maxWords = 20000

// wordsOf are the words of a text, none of a number.
func wordsOf(n *object.Node) []string {
	if _, _, amount := match.ParseQuantities(n.Text, n.Text); amount || n.Kind != object.TextNode {
		return nil
	}
	return strings.FieldsFunc(n.Text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;:=@"'[](){}`, r) })
}

func addLine(lines map[fileLine]bool, at source.Span) {
	if !at.IsZero() {
		lines[fileLine{at.Path(), at.Line}] = true
	}
}

// hasLineOf reports whether an object that differs names a line that a change of a spec is about, or says what is new there.
func (l *ChangedLines) hasLineOf(c *match.Change) bool {
	return l.hasWordsOf(c) || c.Old != nil && comesFromLines(l.was, c.Old, c.From) || c.New != nil && comesFromLines(l.is, c.New, c.To)
}

func (l *ChangedLines) hasWordsOf(c *match.Change) bool {
	if c.Whole() || c.New == nil {
		return false
	}
	words := wordsOf(c.New)
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !l.words[word] })
}

func comesFromLines(lines map[fileLine]bool, value *object.Node, from *origin.Origin) bool {
	found := false
	value.Leaves(from, func(_ []string, _ *object.Node, own *origin.Origin) {
		found = found || own != nil && (lines[fileLine{own.At.Path(), own.At.Line}] || lines[fileLine{own.At.Path(), 0}])
	})
	return found
}

// specSpans are the places of a value of a spec on both sides, nowhere where it was not written.
func specSpans(c *match.Change) (before, after source.Span) {
	before, after = c.Spans()
	if c.From != nil && c.From.Kind == origin.Default && !after.IsZero() {
		before = source.Span{}
	}
	if c.To != nil && c.To.Kind == origin.Default && !before.IsZero() {
		after = source.Span{}
	}
	return before, after
}

// specChangeText is a change of a spec as people read it, with its line: `tenants/speech.yaml:14: quota.cpu: 800 → 900`.
func specChangeText(c *match.Change) string {
	before, at := specSpans(c)
	if at.IsZero() {
		at = before
	}
	text := changeText(c)
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
