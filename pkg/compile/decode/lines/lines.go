// Package lines looks at the lines of YAML that no parser reads, as a person would: where the mistake is (FirstMistake), and which specs the
// file would hold without it (Specs).
//
// A parser stops where the text makes no sense any more, which is often far behind the mistake: at the end of the file for a quote that
// nobody closed. The scanner here knows the YAML that people write in specs, so that it sees the quote, the bracket, the line without
// colon and the indentation that fits no key above. It is asked only about text that a parser refused, and where it finds nothing the
// parser's word stands. It reads each line once.
package lines

import (
	"strings"
	"unicode/utf8"
)

// Place is a piece of one line. Line and Column count from 1, Column and Length characters.
type Place struct{ Line, Column, Length int }

// splitLines returns the lines of a text without their ends, which are LF, CRLF or CR.
func splitLines(text string) []string {
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.Split(text, "\n")
}

// characterCount returns how many characters a text has.
func characterCount(text string) int { return utf8.RuneCountInString(text) }

// isComment reports whether nothing is said behind an offset of a line.
func isComment(line string, from int) bool {
	rest := strings.TrimLeft(line[from:], " \t")
	return rest == "" || rest[0] == '#' && (len(rest) < len(line[from:]) || from == 0)
}

// isSeparator reports whether a line ends a document.
func isSeparator(line string) bool {
	return strings.HasPrefix(line, "---") && (len(line) == 3 || line[3] == ' ' || line[3] == '\t') || strings.TrimRight(line, " ") == "..."
}
