package lines

import (
	"fmt"
	"strings"
)

// scanValue reads the value of an entry, which begins behind an offset of the line in work, and the lines to which it goes on.
func (s *scanner) scanValue(line string, from int) {
	from = s.skipProperties(line, from)
	if s.found != nil || isComment(line, from) {
		return
	}
	for line[from] == ' ' || line[from] == '\t' {
		from++
	}
	top := s.innermostLevel()
	top.filled = true
	switch c := line[from]; {
	case c == '"' || c == '\'':
		s.scanQuoted(line, from)
	case c == '[' || c == '{':
		s.scanFlow(from)
	case c == '|' || c == '>':
		s.skipBlockText()
	case strings.IndexByte("@`%", c) >= 0:
		s.report(s.now, from, from+1, "write the value in quotes", "a value cannot begin with `%c`", c)
	case c == ']' || c == '}':
		s.report(s.now, from, from+1, "remove it, or open it before", "`%c` closes nothing that is open", c)
	case c == '-' && (from+1 == len(line) || line[from+1] == ' '):
		s.report(s.now, from, from+1, "begin the list in the next line, or write it in brackets: `[…]`", "a list cannot begin behind its key")
	default:
		s.scanPlainText(line, from)
	}
}

// skipProperties skips anchors and tags.
func (s *scanner) skipProperties(line string, from int) int {
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

// scanPlainText reads text without quotes, in which a colon with a blank behind it begins a key.
func (s *scanner) scanPlainText(line string, from int) {
	if colon := colonAfter(line, from); colon >= 0 {
		text := strings.TrimRight(line[from:], " \t")
		help := "write the value in quotes"
		if !strings.ContainsAny(text, `"\#`) {
			help = fmt.Sprintf("write the value in quotes, `\"%s\"`, or each key in a line of its own", text)
		}
		s.report(s.now, colon, colon+1, help, "a value without quotes holds `:` and a blank, as if it were a key")
		return
	}
	s.innermostLevel().text = true
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

// scanQuoted reads text in quotes.
func (s *scanner) scanQuoted(line string, from int) {
	s.checkEscapes(line, from)
	end := quoteEnd(line, from)
	if end < 0 {
		s.scanMultilineQuote(line[from], s.now, from)
		return
	}
	s.reportTextAfter(line, end+1, "the quote")
}

const escaped = "0abt\tnvfre \"/\\N_LPxuU"

// checkEscapes reports a backslash that stands for nothing.
func (s *scanner) checkEscapes(line string, from int) {
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

// scanMultilineQuote reads on to the line with the end of a quote that began in another. Where another key comes first, it was forgotten.
func (s *scanner) scanMultilineQuote(mark byte, began, from int) {
	for ; s.at < len(s.lines); s.at++ {
		line := s.lines[s.at]
		if isSeparator(line) || s.beginsEntry(line) {
			break
		}
		if end := quoteEnd(string(mark)+line, 0); end > 0 {
			s.now = s.at
			s.at++
			s.reportTextAfter(line, end, "the quote")
			return
		}
	}
	s.reportUnclosed(began, from, "quote", mark)
}

func (s *scanner) reportUnclosed(line, from int, what string, mark byte) {
	help := fmt.Sprintf("write `%c` at the end of the value", closingMark(mark))
	if mark != closingMark(mark) && isComment(s.lines[line], from+1) {
		help = fmt.Sprintf("write `%c` behind the last entry, or remove `%c` where each entry has a line of its own", closingMark(mark), mark)
	}
	s.report(line, from, from+1, help, "the %s `%c` is never closed", what, mark)
}

func closingMark(mark byte) byte {
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
	if indent > s.innermostLevel().indent {
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

// reportTextAfter reports text behind the end of a value.
func (s *scanner) reportTextAfter(line string, from int, what string) {
	if isComment(line, from) {
		return
	}
	for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	to := from + len(strings.Fields(line[from:])[0])
	s.report(s.now, from, to, "remove it, or put all of the value in quotes", "the value ends with %s before this", what)
}

// skipBlockText skips the lines of a text that begins with | or >.
func (s *scanner) skipBlockText() {
	around := s.innermostLevel().indent
	for ; s.at < len(s.lines); s.at++ {
		line := s.lines[s.at]
		if strings.TrimSpace(line) != "" && len(line)-len(strings.TrimLeft(line, " ")) <= around {
			return
		}
	}
}

// openBracket is where a bracket was opened.
type openBracket struct {
	mark       byte
	line, from int
}

// scanFlow reads a value in brackets, to where they are closed.
func (s *scanner) scanFlow(from int) {
	var open []openBracket
	for {
		open = s.scanFlowLine(from, open)
		if s.found != nil || len(open) == 0 {
			return
		}
		if s.at == len(s.lines) || isSeparator(s.lines[s.at]) || s.beginsEntry(s.lines[s.at]) {
			last := open[len(open)-1]
			s.reportUnclosed(last.line, last.from, "bracket", last.mark)
			return
		}
		s.now, from = s.at, 0
		s.at++
	}
}

// scanFlowLine reads what is left of the line in work, or of the one in which its quotes end, and returns the brackets that are open behind it.
func (s *scanner) scanFlowLine(from int, open []openBracket) []openBracket {
	for line := s.lines[s.now]; from < len(line) && s.found == nil; from++ {
		switch c := line[from]; c {
		case '[', '{':
			open = append(open, openBracket{c, s.now, from})
		case ']', '}':
			if open = s.closeBracket(open, c, from); s.found == nil && len(open) == 0 {
				s.reportTextAfterFlow(line, from+1)
				return nil
			}
		case '"', '\'':
			if beginsToken(line, from) {
				from = s.skipQuotedInFlow(line, from)
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
func (s *scanner) closeBracket(open []openBracket, mark byte, from int) []openBracket {
	last := open[len(open)-1]
	if closingMark(last.mark) != mark {
		s.report(s.now, from, from+1, fmt.Sprintf("write `%c`", closingMark(last.mark)), "`%c` in line %d is closed with `%c`", last.mark, last.line+1, mark)
	}
	return open[:len(open)-1]
}

// beginsToken reports whether a quote opens a value, as opposed to one within a word.
func beginsToken(line string, from int) bool {
	return from == 0 || strings.IndexByte(" \t[{,:", line[from-1]) >= 0
}

// skipQuotedInFlow returns where a quote ends, in the line that is then in work.
func (s *scanner) skipQuotedInFlow(line string, from int) int {
	s.checkEscapes(line, from)
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
		s.reportUnclosed(began, from, "quote", mark)
		return len(line)
	}
	next := strings.TrimLeft(line[end+1:], " \t")
	if next != "" && strings.IndexByte(",]}:#", next[0]) < 0 {
		s.report(s.now, end, end+1, "write a comma between the two", "a comma is missing behind this value")
	}
	return end
}

func (s *scanner) reportTextAfterFlow(line string, from int) {
	if strings.HasPrefix(strings.TrimLeft(line[from:], " "), ":") {
		return // a key in brackets, which specs do not have
	}
	s.reportTextAfter(line, from, "the bracket")
}
