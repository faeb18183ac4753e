package diag

import (
	"fmt"
	"io"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Palette holds the escape sequences of a terminal. The zero Palette writes plain text.
type Palette struct {
	Error, Warning, Place, Help, Reset string
}

// Colours is the palette for terminals that understand ANSI.
func Colours() Palette {
	return Palette{Error: "\x1b[1;31m", Warning: "\x1b[1;33m", Place: "\x1b[34m", Help: "\x1b[32m", Reset: "\x1b[0m"}
}

func (p Palette) of(severity Severity) string {
	if severity == Error {
		return p.Error
	}
	return p.Warning
}

// maxShown is how many diagnostics WriteText writes; who has more reads no further. Records has them all.
const maxShown = 200

// WriteText writes the diagnostics for people: message, place, the line with carets under the token, related places,
// notes and help. It ends with a line of totals when there is anything.
func (l *List) WriteText(w io.Writer, p Palette) error {
	var b strings.Builder
	items := l.Sorted()
	for _, d := range items[:min(maxShown, len(items))] {
		writeDiagnostic(&b, d, p)
		b.WriteString("\n")
	}
	if len(items) > maxShown {
		fmt.Fprintf(&b, "the first %d of %d are shown\n", maxShown, len(items))
	}
	if len(items) > 0 {
		fmt.Fprintln(&b, totals(items))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeDiagnostic(b *strings.Builder, d *Diagnostic, p Palette) {
	colour := p.of(d.Severity)
	fmt.Fprintf(b, "%s%s[%s]%s: %s\n", colour, d.Severity, d.Code, p.Reset, visible(d.Message))
	gutter := strings.Repeat(" ", gutterWidth(d))
	writeSnippet(b, gutter, "-->", d.Span, "", colour, p)
	for _, r := range d.Related {
		writeSnippet(b, gutter, ":::", r.Span, r.Message, p.Place, p)
	}
	for _, note := range d.Notes {
		fmt.Fprintf(b, "%s %s=%s note: %s\n", gutter, p.Place, p.Reset, visible(note))
	}
	for _, help := range d.Help {
		fmt.Fprintf(b, "%s %s=%s %shelp%s: %s\n", gutter, p.Place, p.Reset, p.Help, p.Reset, visible(help))
	}
}

func gutterWidth(d *Diagnostic) int {
	last := d.Span.Line
	for _, r := range d.Related {
		last = max(last, r.Span.Line)
	}
	return len(fmt.Sprint(last))
}

func writeSnippet(b *strings.Builder, gutter, arrow string, span source.Span, label, colour string, p Palette) {
	if span.IsZero() {
		return
	}
	fmt.Fprintf(b, "%s%s%s%s %s\n", gutter, p.Place, arrow, p.Reset, span)
	if span.Line == 0 {
		return
	}
	line, column := excerpt(span)
	fmt.Fprintf(b, "%s %s|%s\n", gutter, p.Place, p.Reset)
	fmt.Fprintf(b, "%s%*d |%s %s\n", p.Place, len(gutter), span.Line, p.Reset, visible(line))
	marks := indent(line, column) + colour + strings.Repeat("^", max(1, span.Length)) + p.Reset
	fmt.Fprintf(b, "%s %s|%s %s\n", gutter, p.Place, p.Reset, strings.TrimRight(marks+" "+visible(label), " "))
}

// maxExcerpt is how many bytes of a line are shown.
const maxExcerpt = 400

// excerpt returns the line of a span and the column of the span in it; of a very long line the part around the span.
func excerpt(span source.Span) (line string, column int) {
	line = span.File.Line(span.Line)
	if len(line) <= maxExcerpt {
		return line, span.Column
	}
	text := []rune(line)
	start := max(0, min(span.Column-1, len(text))-maxExcerpt/2)
	end := min(len(text), start+maxExcerpt)
	return string(text[start:end]), span.Column - start
}

// indent keeps tabs, so that carets stay under their token whatever the width of a tab is.
func indent(line string, column int) string {
	var b strings.Builder
	n := 1
	for _, r := range line {
		if n >= column {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
		n++
	}
	b.WriteString(strings.Repeat(" ", max(0, column-n)))
	return b.String()
}

// visible replaces control characters: a spec must not steer the reader's terminal.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\ufffd'
		}
		return r
	}, line)
}

func totals(items []*Diagnostic) string {
	errors, warnings := 0, 0
	for _, d := range items {
		if d.Severity == Error {
			errors++
		} else {
			warnings++
		}
	}
	switch {
	case warnings == 0:
		return plural(errors, "error")
	case errors == 0:
		return plural(warnings, "warning")
	}
	return plural(errors, "error") + ", " + plural(warnings, "warning")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
