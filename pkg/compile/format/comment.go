package format

import "slices"

// placeComments gives every comment, and every blank line between entries, to what it stands at.
func placeComments(roots []*block, comments []*comment, t *fileText) {
	var all []*entry
	for _, root := range roots {
		all = collectEntries(root, all)
	}
	slices.SortStableFunc(all, func(a, b *entry) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.col - b.col
	})
	for _, c := range comments {
		if !c.own {
			c.placeBeside(all)
		}
	}
	p := commentPlacer{roots: roots, all: all}
	for _, c := range comments {
		if !c.placed {
			p.placeAbove(c, t)
		}
	}
	for _, e := range all {
		switch {
		case !blankAbove(t, e.line):
		case e != e.in.entries[0]:
			e.head = append(e.head, "")
		case e.in.parent == nil:
			e.in.head = append(e.in.head, "")
		}
	}
}

func collectEntries(b *block, all []*entry) []*entry {
	for _, e := range b.entries {
		all = append(all, e)
		if e.inner != nil {
			all = collectEntries(e.inner, all)
		}
	}
	return all
}

func blankAbove(t *fileText, line int) bool {
	_, ok := t.indent(line - 1)
	return line > 1 && !ok
}

// placeBeside places a comment at the end of a line: beside the last entry that begins there or, in a value of several lines, before.
func (c *comment) placeBeside(all []*entry) {
	var last *entry
	for _, e := range all {
		if e.line <= c.line && (e.line < c.line || e.col < c.col) {
			last = e
		}
	}
	if last == nil || last.beside != "" || last.line != c.line && c.line > last.last {
		return // as if it had its own line
	}
	last.beside, c.placed = c.text, true
}

type commentPlacer struct {
	roots []*block
	all   []*entry
}

// placeAbove places a comment that has its own line.
func (p commentPlacer) placeAbove(c *comment, t *fileText) {
	c.placed = true
	var before, after *entry
	for _, e := range p.all {
		switch {
		case e.line < c.line || e.line == c.line && e.col < c.col:
			before = e
		case after == nil:
			after = e
		}
	}
	lines := []string{c.text}
	if blankAbove(t, c.line) && c.own {
		lines = []string{"", c.text}
	}
	switch {
	case before == nil && after == nil: // every document is empty
		p.roots[0].head = append(p.roots[0].head, lines...)
	case before != nil && c.line <= before.last: // in the value of an entry
		before.head = append(before.head, lines...)
	case after != nil && (before == nil || rootOf(before) != rootOf(after)) && c.line > documentMarkerBetween(t, before, after):
		rootOf(after).head = append(rootOf(after).head, lines...)
	case after != nil && rootOf(before) == rootOf(after) && c.col <= after.col:
		after.head = append(after.head, lines...)
	case after != nil && blockContains(before.in, after):
		after.head = append(after.head, lines...)
	default:
		b := blockEndingAt(before, after, c.col)
		b.foot = append(b.foot, lines...)
	}
}

func rootOf(e *entry) *block {
	for e.in.parent != nil {
		e = e.in.parent
	}
	return e.in
}

// documentMarkerBetween returns the line of the last `---` between two entries, or 0.
func documentMarkerBetween(t *fileText, before, after *entry) int {
	first := 1
	if before != nil {
		first = before.last
	}
	for number := after.line; number >= first; number-- {
		line := t.line(number)
		if len(line) >= 3 && string(line[:3]) == "---" && (len(line) == 3 || line[3] == ' ' || line[3] == '\t') {
			if before == nil {
				return 0
			}
			return number - 1
		}
	}
	return 0
}

// blockEndingAt returns the block at whose end a comment stands: the innermost around the entry before it that is not deeper than the comment,
// but none that goes on with the entry after it. Where a list has the column of its key the comment is the key's neighbour.
func blockEndingAt(before, after *entry, col int) *block {
	b := before.in
	for b.parent != nil && (after == nil || !blockContains(b.parent.in, after)) {
		around := b.parent.in
		if b.entries[0].col <= col && around.entries[0].col != col {
			break
		}
		b = around
	}
	return b
}

func blockContains(b *block, e *entry) bool {
	for ; e != nil; e = e.in.parent {
		if e.in == b {
			return true
		}
	}
	return false
}
