package lines

import (
	"fmt"
	"strings"
)

// Finding is a mistake: what is wrong at a place, and what to write instead.
type Finding struct {
	Place
	Message, Help string
}

// FirstMistake returns the first mistake of a text, if it is one that the scanner knows.
func FirstMistake(text string) (Finding, bool) {
	s := scanner{lines: splitLines(text)}
	s.startDocument()
	for s.found == nil && s.at < len(s.lines) {
		s.scanLine()
	}
	if s.found == nil {
		return Finding{}, false
	}
	return *s.found, true
}

// scanner reads line after line, and knows which mappings and lists are open.
type scanner struct {
	lines []string
	// at is the next line, from 0; now the one in work.
	at, now int
	levels  []openCollection
	// step is how much deeper keys are than what they belong to: as the first that are, 0 before.
	step  int
	found *Finding
}

// openCollection is an open mapping or list.
type openCollection struct {
	// indent is the column of its keys or dashes, from 0.
	indent int
	list   bool
	// count is how many entries there were, line and key those of the last.
	count, line int
	key         string
	// filled says that the last entry has a value in its own line, so that nothing may be below it.
	filled bool
	// suspect is the line, from 0, of a value without colon where a key is expected; -1 for none.
	suspect int
	// text says that the value goes on in deeper lines.
	text bool
}

func (s *scanner) startDocument() { s.levels = []openCollection{{indent: -1, suspect: -1}} }

func (s *scanner) innermostLevel() *openCollection { return &s.levels[len(s.levels)-1] }

// report notes a mistake at bytes of the line in work.
func (s *scanner) report(line, from, to int, help, format string, args ...any) {
	if s.found != nil {
		return
	}
	text := s.lines[line]
	from = min(from, len(text))
	s.found = &Finding{
		Place:   Place{Line: line + 1, Column: characterCount(text[:from]) + 1, Length: max(1, characterCount(text[from:max(from, min(to, len(text)))]))},
		Message: fmt.Sprintf(format, args...), Help: help,
	}
}

// scanLine reads the next line, and those that belong to its value.
func (s *scanner) scanLine() {
	s.now = s.at
	s.at++
	line := s.lines[s.now]
	switch {
	case isSeparator(line):
		s.startDocument()
		return
	case isComment(line, 0), line[0] == '%' && len(s.levels) == 1:
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if line[indent] == '\t' {
		s.report(s.now, indent, indent+1, "indent with spaces: YAML does not allow tabs there", "the line is indented with a tab")
		return
	}
	if s.innermostLevel().text && indent > s.innermostLevel().indent && colonAfter(line, indent) < 0 {
		return // the text above goes on
	}
	s.scanEntry(line, s.openItems(line, indent))
}

// openItems opens the lists whose dashes begin a line, and returns where their item begins.
func (s *scanner) openItems(line string, from int) int {
	for s.found == nil && from < len(line) && line[from] == '-' && (from+1 == len(line) || line[from+1] == ' ' || line[from+1] == '\t') {
		s.openLevel(from, true, "-")
		from++
		for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
			from++
		}
	}
	return from
}

// openLevel makes room for a key or a dash in a column, or reports that nothing is there to which it could belong.
func (s *scanner) openLevel(indent int, list bool, key string) {
	var closed *openCollection
	for s.innermostLevel().indent > indent {
		last := *s.innermostLevel()
		closed, s.levels = &last, s.levels[:len(s.levels)-1]
	}
	if n := len(s.levels); s.innermostLevel().indent == indent && s.innermostLevel().list && !list && n > 1 && s.levels[n-2].indent == indent {
		s.levels = s.levels[:n-1] // the list was in the column of its key
	}
	top := s.innermostLevel()
	switch {
	case top.indent == indent && top.list == list:
		top.count++
	case top.indent == indent && list && !top.filled:
		s.levels = append(s.levels, openCollection{indent: indent, list: true, count: 1})
	case top.indent == indent && list:
		s.report(s.now, indent, indent+1, "give the list a key of its own, or indent it below the key that it belongs to", "a list begins here, and `%s` in line %d has a value already", top.key, top.line+1)
	case top.indent == indent:
		s.report(s.now, indent, indent+len(key), "write `- ` before it, or indent it below the item that it belongs to", "`%s` is in the column of a list, whose items begin with `- `", key)
	case closed != nil && closed.indent > indent, top.filled:
		s.reportMisplaced(indent, key, closed)
	default:
		if s.step == 0 && top.indent == 0 && !list {
			s.step = indent
		}
		s.levels = append(s.levels, openCollection{indent: indent, list: list, count: 1})
	}
	top = s.innermostLevel()
	top.line, top.key, top.filled, top.suspect, top.text = s.now, key, false, -1, false
}

// reportMisplaced reports a key or a dash that is in no column of those above: the one before it, if that alone is why.
func (s *scanner) reportMisplaced(indent int, key string, closed *openCollection) {
	top := s.innermostLevel()
	if top.suspect >= 0 {
		s.reportMissingColon(top.suspect)
		return
	}
	before, around := closed, *top
	if before == nil && len(s.levels) > 1 {
		before, around = top, s.levels[len(s.levels)-2]
	}
	if before != nil && before.count == 1 && around.indent >= 0 && before.indent != around.indent+s.step && indent == around.indent+s.step {
		s.report(before.line, before.indent, before.indent+len(before.key), fmt.Sprintf("indent it by %s, as line %d", spacesText(indent), s.now+1),
			"the indentation of `%s` is wrong: %s", before.key, spacesText(before.indent))
		return
	}
	s.report(s.now, indent, indent+len(key), s.fittingColumns(closed), "the indentation of `%s` fits no key above: %s", key, spacesText(indent))
}

// fittingColumns names the indentations that would fit.
func (s *scanner) fittingColumns(closed *openCollection) string {
	var fits []string
	name := func(l openCollection) {
		if l.indent >= 0 {
			fits = append(fits, fmt.Sprintf("by %s, as `%s` in line %d", spacesText(l.indent), l.key, l.line+1))
		}
	}
	if closed != nil {
		name(*closed)
	}
	for i := len(s.levels) - 1; i >= 0 && len(fits) < 2; i-- {
		name(s.levels[i])
	}
	return "indent it " + strings.Join(fits, ", or ")
}

func spacesText(n int) string {
	switch n {
	case 0:
		return "no spaces"
	case 1:
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// scanEntry reads what is behind the dashes of a line: a key with its value, or a value alone.
func (s *scanner) scanEntry(line string, from int) {
	if s.found != nil || from == len(line) || line[from] == '#' {
		return
	}
	if colon := keyEnd(line, from); colon >= 0 {
		s.openLevel(from, false, strings.Trim(strings.TrimRight(line[from:colon], " "), `"'`))
		s.scanValue(line, colon+1)
		return
	}
	if top := s.innermostLevel(); top.list && top.line == s.now {
		s.scanValue(line, from)
		return
	}
	s.scanKeylessLine(line, from)
}

// keyEnd returns where the colon behind a key is, or -1.
func keyEnd(line string, from int) int {
	if line[from] == '"' || line[from] == '\'' {
		end := quoteEnd(line, from)
		if end < 0 {
			return -1
		}
		for end++; end < len(line) && line[end] == ' '; end++ {
		}
		if end < len(line) && line[end] == ':' {
			return end
		}
		return -1
	}
	if strings.IndexByte("[{|>@`%!&*,]}", line[from]) >= 0 {
		return -1
	}
	return colonAfter(line, from)
}

// colonAfter returns the first colon that ends a key, before any comment, or -1.
func colonAfter(line string, from int) int {
	for i := from; i < len(line); i++ {
		switch {
		case line[i] == '#' && i > from && (line[i-1] == ' ' || line[i-1] == '\t'):
			return -1
		case line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t'):
			return i
		}
	}
	return -1
}

// scanKeylessLine reads a line that has no key and no dash.
func (s *scanner) scanKeylessLine(line string, from int) {
	top := s.innermostLevel()
	switch {
	case from > top.indent && !top.filled:
		suspect := s.now
		s.scanValue(line, from)
		top.suspect = suspect
	case top.suspect >= 0:
		s.reportMissingColon(top.suspect)
	default:
		for len(s.levels) > 1 && s.innermostLevel().indent > from {
			s.levels = s.levels[:len(s.levels)-1]
		}
		s.reportMissingColon(s.now)
	}
}

// isConflictMarker reports whether a line is one that git leaves where it could not merge.
func isConflictMarker(text string) bool {
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if rest, found := strings.CutPrefix(text, mark); found && (rest == "" || rest[0] == ' ') {
			return true
		}
	}
	return false
}

// reportMissingColon reports a line that is neither an entry nor an item.
func (s *scanner) reportMissingColon(at int) {
	line := s.lines[at]
	from := len(line) - len(strings.TrimLeft(line, " "))
	text := strings.TrimRight(line[from:], " \t")
	if comment := strings.Index(text, " #"); comment >= 0 {
		text = strings.TrimRight(text[:comment], " \t")
	}
	to := from + len(text)
	name, value, split := strings.Cut(text, " ")
	colon := strings.IndexByte(text, ':')
	switch {
	case isConflictMarker(text):
		s.report(at, from, to, "keep what is right, and remove the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`", "a merge conflict was left in the file")
	case strings.Trim(text, "-") == "" && len(text) > 1:
		s.report(at, from, to, "write `---`, or remove the line", "documents are separated by three dashes")
	case strings.HasPrefix(text, "-") && len(text) > 1:
		s.report(at, from, from+2, "write `- "+text[1:]+"`", "there is no space between the dash and the item")
	case strings.Contains(text, "："):
		s.report(at, from, to, "write `:` and a space", "the colon is the character U+FF1A, which YAML does not know as one")
	case s.innermostLevel().list && s.innermostLevel().indent >= from && colon < 0:
		s.report(at, from, to, "write `- "+text+"`", "the line is not an item of the list above: it has no dash")
	case colon > 0:
		s.report(at, from, to, fmt.Sprintf("write `%s: %s`", text[:colon], text[colon+1:]), "there is no space behind the colon")
	case strings.Contains(name, "="):
		key, rest, _ := strings.Cut(text, "=")
		s.report(at, from, to, fmt.Sprintf("write `%s: %s`", strings.TrimSpace(key), strings.TrimSpace(rest)), "the line has `=` where a colon is expected")
	case split:
		s.report(at, from, to, fmt.Sprintf("write `%s: %s`", name, strings.TrimSpace(value)), "the line has no colon")
	default:
		s.report(at, from, to, fmt.Sprintf("write `%s:` and a value, or remove the line", text), "the line has no colon")
	}
}
