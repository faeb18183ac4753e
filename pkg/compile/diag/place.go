package diag

import (
	"bytes"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Place is a position in a file. Line and Column count from 1, Column in characters (Unicode code points), and both are missing
// for a whole file. EndColumn is exclusive: it is Column where there is nothing but the end of the line.
type Place struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndColumn int    `json:"endColumn,omitempty"`
}

// Places turns spans into places that lie inside their line. It measures each line once, because a file may have one line with many
// thousand mistakes. The zero Places is ready.
type Places struct {
	lengths map[fileLine]int
	lines   map[*source.File]int
}

type fileLine struct {
	file *source.File
	line int
}

// PlaceOf returns the place of a span.
func (p *Places) PlaceOf(span source.Span) Place {
	if span.IsZero() || span.Line < 1 {
		return Place{File: span.Path()}
	}
	line := min(span.Line, p.lineCount(span.File))
	end := p.lineLength(span.File, line) + 1
	column := min(max(1, span.Column), end)
	return Place{File: span.Path(), Line: line, Column: column, EndColumn: min(column+max(1, span.Length), end)}
}

func (p *Places) lineCount(file *source.File) int {
	count, known := p.lines[file]
	if !known {
		if p.lines == nil {
			p.lines = map[*source.File]int{}
		}
		count = lineEnds(file.Data) + 1
		p.lines[file] = count
	}
	return count
}

// lineEnds counts what File.Line takes for the end of a line: LF, CRLF and CR.
func lineEnds(data []byte) int {
	return bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) - bytes.Count(data, []byte("\r\n"))
}

func (p *Places) lineLength(file *source.File, line int) int {
	key := fileLine{file, line}
	length, known := p.lengths[key]
	if !known {
		if p.lengths == nil {
			p.lengths = map[fileLine]int{}
		}
		length = utf8.RuneCountInString(file.Line(line))
		p.lengths[key] = length
	}
	return length
}
