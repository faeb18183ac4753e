package match

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// What a chart renders comes from a file of the chart, and by that from the values that it was given: the line that somebody edited is one
// of these.

// settingsOf are the places of a component's values that differ between two states of its objects; nil where only one state has it.
func settingsOf(before, after []object.Object) [][2]source.Span {
	from, to := renderedOrigin(before), renderedOrigin(after)
	if from == nil || to == nil {
		return nil
	}
	found := [][2]source.Span{}
	left := slices.Clone(from.Also)
	for _, at := range to.Also {
		i := slices.IndexFunc(left, func(s source.Span) bool { return sameText(s, at) })
		if i < 0 {
			i = slices.IndexFunc(left, func(s source.Span) bool { return s.Path() == at.Path() && s.Line == at.Line })
			if i < 0 {
				found = append(found, [2]source.Span{{}, at})
				continue
			}
			found = append(found, [2]source.Span{left[i], at})
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, at := range left {
		found = append(found, [2]source.Span{at, {}})
	}
	return found
}

// renderedOrigin is the origin of what a chart renders, nil for other objects.
func renderedOrigin(objects []object.Object) *origin.Origin {
	if len(objects) == 0 || objects[0].Rule == nil || objects[0].Rule.Kind != origin.Rendered {
		return nil
	}
	return objects[0].Rule
}

// isRendered reports whether a value comes from a chart on the sides that have it, and no patch is behind it.
func (c *Change) isRendered(before, after source.Span) bool {
	if !c.cut.IsZero() || before.IsZero() && after.IsZero() {
		return false
	}
	for _, from := range []*origin.Origin{c.From, c.To} {
		if from != nil && from.Kind != origin.Rendered {
			return false
		}
	}
	for _, o := range []*object.Object{c.Before, c.After} {
		if o != nil && (o.Rule == nil || o.Rule.Kind != origin.Rendered || !o.Patched.Cut.IsZero()) {
			return false
		}
	}
	return true
}

// settingSpans is the line of the chart's values by which a rendered value is another one: of those that differ the one that has the text of the
// value, or else the first. It is the file of the chart where none differs.
func (c *Change) settingSpans(before, after source.Span) (was, is source.Span) {
	if len(c.settings) == 0 {
		return c.templateSpan(before, c.Old), c.templateSpan(after, c.New)
	}
	chosen := c.settings[0]
	for _, pair := range c.settings {
		if lineHasText(pair[1], c.New.Scalar()) || lineHasText(pair[0], c.Old.Scalar()) {
			chosen = pair
			break
		}
	}
	return editedLine(chosen[0], chosen[1], c.New.Scalar())
}

// templateSpan is the file of the chart that an object comes from or goes with, where the component is there on both sides.
func (c *Change) templateSpan(at source.Span, root *object.Node) source.Span {
	if c.settings != nil && c.Whole() && root != nil && root.From != nil && root.From.Kind == origin.Rendered {
		return root.From.At
	}
	return at
}

// lineHasText reports whether the line of a place, or one of a whole file, has a text.
func lineHasText(at source.Span, text string) bool {
	switch {
	case at.IsZero() || text == "":
		return false
	case at.Line == 0:
		return strings.Contains(at.File.Text(), text)
	}
	return strings.Contains(at.File.Line(at.Line), text)
}

// editedLine narrows two whole files to the line that was edited: of those that only one of them has the one with a text, or else the first.
func editedLine(was, is source.Span, text string) (before, after source.Span) {
	if was.IsZero() || is.IsZero() || was.Line > 0 || is.Line > 0 {
		return was, is
	}
	gone, come := linesOnlyIn(was.File, is.File), linesOnlyIn(is.File, was.File)
	if after = lineWithText(is.File, come, text); !after.IsZero() {
		// What stands at the same place among the lines that differ is what was there before.
		if i := slices.Index(come, after.Line); i < len(gone) {
			before = lineWithText(was.File, gone[i:i+1], "")
		}
		return before, after
	}
	return lineWithText(was.File, gone, ""), source.Span{}
}

// linesOnlyIn are the numbers of the lines that a file has more often than another one, but for blank ones.
func linesOnlyIn(file, other *source.File) []int {
	left := map[string]int{}
	for line := range strings.SplitSeq(other.Text(), "\n") {
		left[line]++
	}
	var found []int
	for i, line := range strings.Split(file.Text(), "\n") {
		if left[line]--; left[line] < 0 && strings.TrimSpace(line) != "" {
			found = append(found, i+1)
		}
	}
	return found
}

// lineWithText is the place of the first of some lines that has a text, or of the first; nowhere where there is none.
func lineWithText(file *source.File, lines []int, text string) source.Span {
	if len(lines) == 0 {
		return source.Span{}
	}
	number := lines[0]
	if i := slices.IndexFunc(lines, func(n int) bool { return text != "" && strings.Contains(file.Line(n), text) }); i >= 0 {
		number = lines[i]
	}
	line := file.Line(number)
	return file.Token(number, len(line)-len(strings.TrimLeft(line, " \t"))+1, len([]rune(strings.TrimSpace(line))))
}
