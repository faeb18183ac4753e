package decode

import (
	"bytes"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// firstHiddenCharacter returns the first character with which a file shows its reviewer something else than the compiler reads, what it is and
// what it does, or a zero span. These are the controls that change the order in which text is shown (Trojan Source, CVE-2021-42574),
// and a carriage return alone among other line ends: YAML ends the line there, a comment included, and what shows the change of a pull
// request goes on with it. A file in which all lines end so, as old machines wrote them, hides nothing.
func firstHiddenCharacter(file *source.File) (at source.Span, what, does string) {
	order, end := indexBidiControl(file.Text()), indexLoneCarriageReturn(file.Data)
	switch {
	case order >= 0 && (end < 0 || order < end):
		return characterSpan(file, order), "a character that changes the order of text", "it shows a reviewer another text than is read"
	case end >= 0:
		return characterSpan(file, end), "a carriage return without line feed", "a line ends here, which a reviewer does not see"
	}
	return source.Span{}, "", ""
}

// indexBidiControl returns where the first character is that reorders text, or -1. All of them begin with the same byte, which most files
// do not have.
func indexBidiControl(text string) int {
	if strings.IndexByte(text, 0xe2) < 0 {
		return -1
	}
	return strings.IndexFunc(text, isBidiControl)
}

// isBidiControl reports whether a character is among Unicode's embeddings, overrides and isolates (UAX #9, section 2).
func isBidiControl(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// indexLoneCarriageReturn returns where the first carriage return is that no line feed follows, in a file that has line feeds, or -1.
func indexLoneCarriageReturn(data []byte) int {
	if bytes.IndexByte(data, '\n') < 0 {
		return -1
	}
	for i := 0; ; i++ {
		next := bytes.IndexByte(data[i:], '\r')
		if next < 0 {
			return -1
		}
		if i += next; i+1 == len(data) || data[i+1] != '\n' {
			return i
		}
	}
}

// characterSpan returns the span of the character at an offset.
func characterSpan(file *source.File, offset int) source.Span {
	line, column := 1, 1
	for i, r := range file.Text()[:offset] {
		column++
		if r == '\n' || r == '\r' && i+1 < len(file.Data) && file.Data[i+1] != '\n' {
			line, column = line+1, 1
		}
	}
	return source.Span{File: file, Line: line, Column: column, Length: 1}
}
