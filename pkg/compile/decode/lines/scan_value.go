package lines

import (
	"fmt"
	"strings"
)

// value reads the value of an entry, which begins behind an offset of the line in work, and the lines to which it goes on.
func (s *scanner) value(line string, from int) {
	from = s.properties(line, from)
	if s.found != nil || isComment(line, from) {
		return
	}
	for line[from] == ' ' || line[from] == '\t' {
		from++
	}
	top := s.top()
	top.filled = true
	switch c := line[from]; {
	case c == '"' || c == '\'':
		s.quoted(line, from)
	case c == '[' || c == '{':
		s.flow(from)
	case c == '|' || c == '>':
		s.block()
	case strings.IndexByte("@`%", c) >= 0:
		s.report(s.now, from, from+1, "write the value in quotes", "a value cannot begin with `%c`", c)
	case c == ']' || c == '}':
		s.report(s.now, from, from+1, "remove it, or open it before", "`%c` closes nothing that is open", c)
	case c == '-' && (from+1 == len(line) || line[from+1] == ' '):
		s.report(s.now, from, from+1, "begin the list in the next line, or write it in brackets: `[…]`", "a list cannot begin behind its key")
	default:
		s.plain(line, from)
	}
}

// properties skips anchors and tags.
func (s *scanner) properties(line string, from int) int {
	for {
		next := from
		for next < len(line) && (line[next] == ' ' || line[next] == '\t') {
			next++
		}
		if next == len(line) || line[next] != '&' && line[next] != '!' {
			return from
		}
		for from = next; from < len(line) && line[from] != ' '; {
			from++
		}
	}
}

// plain reads text without quotes, in which a colon with a blank behind it begins a key.
func (s *scanner) plain(line string, from int) {
	if colon := colonAfter(line, from); colon >= 0 {
		text := strings.TrimRight(line[from:], " \t")
		help := "write the value in quotes"
		if !strings.ContainsAny(text, `"\#`) {
			help = fmt.Sprintf("write the value in quotes, `\"%s\"`, or each key in a line of its own", text)
		}
		s.report(s.now, colon, colon+1, help, "a value without quotes holds `:` and a blank, as if it were a key")
		return
	}
	s.top().text = true
}

// quoteEnd returns where the quote ends that begins at an offset, or -1.
func quoteEnd(line string, from int) int {
	mark := line[from]
	for i := from + 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && mark == '"':
			i++
		case line[i] == mark && mark == '\'' && i+1 < len(line) && line[i+1] == mark:
			i++
		case line[i] == mark:
			return i
		}
	}
	return -1
}

// quoted reads text in quotes.
func (s *scanner) quoted(line string, from int) {
	s.escapes(line, from)
	end := quoteEnd(line, from)
	if end < 0 {
		s.longQuote(line[from], s.now, from)
		return
	}
	s.nothingAfter(line, end+1, "the quote")
}

const escaped = "0abt\tnvfre \"/\\N_LPxuU"

// escapes reports a backslash that stands for nothing.
func (s *scanner) escapes(line string, from int) {
	if line[from] != '"' {
		return
	}
	for i := from + 1; i+1 < len(line) && line[i] != '"'; i++ {
		if line[i] != '\\' {
			continue
		}
		if strings.IndexByte(escaped, line[i+1]) < 0 {
			s.report(s.now, i, i+2, "write `\\\\` for a backslash, or use single quotes", "`%s` means nothing in double quotes", strings.ToValidUTF8(line[i:i+2], "\\"))
			return
		}
		i++
	}
}

// longQuote reads on to the line with the end of a quote that began in another. Where another key comes first, it was forgotten.
func (s *scanner) longQuote(mark byte, began, from int) {
	for ; s.at < len(s.lines); s.at++ {
		line := s.lines[s.at]
		if isSeparator(line) || s.beginsEntry(line) {
			break
		}
		if end := quoteEnd(string(mark)+line, 0); end > 0 {
			s.now = s.at
			s.at++
			s.nothingAfter(line, end, "the quote")
			return
		}
	}
	s.unclosed(began, from, "quote", mark)
}

func (s *scanner) unclosed(line, from int, what string, mark byte) {
	help := fmt.Sprintf("write `%c` at the end of the value", closing(mark))
	if mark != closing(mark) && isComment(s.lines[line], from+1) {
		help = fmt.Sprintf("write `%c` behind the last entry, or remove `%c` where each entry has a line of its own", closing(mark), mark)
	}
	s.report(line, from, from+1, help, "the %s `%c` is never closed", what, mark)
}

func closing(mark byte) byte {
	switch mark {
	case '[':
		return ']'
	case '{':
		return '}'
	}
	return mark
}

// beginsEntry reports whether a line is an entry beside the one in work, or beside one around it.
func (s *scanner) beginsEntry(line string) bool {
	if isComment(line, 0) {
		return false
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if indent > s.top().indent {
		return false
	}
	from := indent
	if strings.HasPrefix(line[from:], "- ") {
		return true
	}
	end := strings.IndexByte(line[from:], ':')
	return end > 0 && strings.Trim(line[from:from+end], wordCharacters) == "" && (from+end+1 == len(line) || line[from+end+1] == ' ')
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"

// nothingAfter reports text behind the end of a value.
func (s *scanner) nothingAfter(line string, from int, what string) {
	if isComment(line, from) {
		return
	}
	for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	to := from + len(strings.Fields(line[from:])[0])
	s.report(s.now, from, to, "remove it, or put all of the value in quotes", "the value ends with %s before this", what)
}

// block skips the lines of a text that begins with | or >.
func (s *scanner) block() {
	around := s.top().indent
	for ; s.at < len(s.lines); s.at++ {
		line := s.lines[s.at]
		if strings.TrimSpace(line) != "" && len(line)-len(strings.TrimLeft(line, " ")) <= around {
			return
		}
	}
}

// bracket is where one was opened.
type bracket struct {
	mark       byte
	line, from int
}

// flow reads a value in brackets, to where they are closed.
func (s *scanner) flow(from int) {
	var open []bracket
	for {
		open = s.flowLine(from, open)
		if s.found != nil || len(open) == 0 {
			return
		}
		if s.at == len(s.lines) || isSeparator(s.lines[s.at]) || s.beginsEntry(s.lines[s.at]) {
			last := open[len(open)-1]
			s.unclosed(last.line, last.from, "bracket", last.mark)
			return
		}
		s.now, from = s.at, 0
		s.at++
	}
}

// flowLine reads what is left of the line in work, or of the one in which its quotes end, and returns the brackets that are open behind it.
func (s *scanner) flowLine(from int, open []bracket) []bracket {
	for line := s.lines[s.now]; from < len(line) && s.found == nil; from++ {
		switch c := line[from]; c {
		case '[', '{':
			open = append(open, bracket{c, s.now, from})
		case ']', '}':
			if open = s.closeBracket(open, c, from); s.found == nil && len(open) == 0 {
				s.afterFlow(line, from+1)
				return nil
			}
		case '"', '\'':
			if beginsToken(line, from) {
				from = s.quotedInFlow(line, from)
				line = s.lines[s.now]
			}
		case '#':
			if from == 0 || line[from-1] == ' ' {
				from = len(line)
			}
		}
	}
	return open
}

// closeBracket takes the innermost bracket away, and reports one that another mark closes.
func (s *scanner) closeBracket(open []bracket, mark byte, from int) []bracket {
	last := open[len(open)-1]
	if closing(last.mark) != mark {
		s.report(s.now, from, from+1, fmt.Sprintf("write `%c`", closing(last.mark)), "`%c` in line %d is closed with `%c`", last.mark, last.line+1, mark)
	}
	return open[:len(open)-1]
}

// beginsToken reports whether a quote opens a value, as opposed to one within a word.
func beginsToken(line string, from int) bool {
	return from == 0 || strings.IndexByte(" \t[{,:", line[from-1]) >= 0
}

// quotedInFlow returns where a quote ends, in the line that is then in work.
func (s *scanner) quotedInFlow(line string, from int) int {
	s.escapes(line, from)
	end, mark := quoteEnd(line, from), line[from]
	if end < 0 {
		began := s.now
		for ; s.at < len(s.lines) && !isSeparator(s.lines[s.at]) && !s.beginsEntry(s.lines[s.at]); s.at++ {
			if end := quoteEnd(string(mark)+s.lines[s.at], 0); end > 0 {
				s.now = s.at
				s.at++
				return end - 1
			}
		}
		s.unclosed(began, from, "quote", mark)
		return len(line)
	}
	next := strings.TrimLeft(line[end+1:], " \t")
	if next != "" && strings.IndexByte(",]}:#", next[0]) < 0 {
		s.report(s.now, end, end+1, "write a comma between the two", "a comma is missing behind this value")
	}
	return end
}

func (s *scanner) afterFlow(line string, from int) {
	if strings.HasPrefix(strings.TrimLeft(line[from:], " "), ":") {
		return // a key in brackets, which specs do not have
	}
	s.nothingAfter(line, from, "the bracket")
}
