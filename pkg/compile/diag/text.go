package diag

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

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

func (p Palette) severityColour(d *Diagnostic) string {
	switch {
	case d.Waived != nil:
		return p.Help
	case d.Severity == Error:
		return p.Error
	}
	return p.Warning
}

// severityWord is how a finding is called: by its severity, or waived.
func (d *Diagnostic) severityWord() string {
	if d.Waived != nil {
		return "waived"
	}
	return string(d.Severity)
}

// maxShown is how many diagnostics WriteText writes; who has more reads no further. All other formats have them all.
const maxShown = 200

// WriteText writes the diagnostics for people: message, place, the line with carets under the token, related places,
// notes and help. It ends with a line of totals when there is anything.
func (l *List) WriteText(w io.Writer, p Palette) error {
	var b strings.Builder
	items := l.Sorted()
	causes := foldByCause(items, messageCauseOf, otherPlacesNote)
	shown := mostImportant(causes)
	printer := textPrinter{palette: p, secrets: secretLines(items)}
	for _, d := range shown {
		printer.writeDiagnostic(&b, d)
		b.WriteString("\n")
	}
	if more := len(causes) - len(shown); more > 0 {
		fmt.Fprintf(&b, "%d more are not shown here; the format json has them all\n", more)
	}
	if len(items) > 0 {
		fmt.Fprintln(&b, totalsText(items))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mostImportant returns as many as are shown, errors before warnings, in the order that they have.
func mostImportant(items []*Diagnostic) []*Diagnostic {
	if len(items) <= maxShown {
		return items
	}
	errors := slices.DeleteFunc(slices.Clone(items), func(d *Diagnostic) bool { return !d.isError() })
	warnings := max(0, maxShown-len(errors))
	var shown []*Diagnostic
	for _, d := range items {
		switch {
		case len(shown) == maxShown:
			return shown
		case d.isError():
			shown = append(shown, d)
		case warnings > 0:
			shown = append(shown, d)
			warnings--
		}
	}
	return shown
}

// isError reports whether a finding is an error that nobody accepted.
func (d *Diagnostic) isError() bool { return d.Severity == Error && d.Waived == nil }

// textPrinter writes findings for people.
type textPrinter struct {
	palette Palette
	places  Places
	// secrets are the lines that nobody may show, whichever finding is about them.
	secrets map[fileLine]bool
}

func secretLines(items []*Diagnostic) map[fileLine]bool {
	lines := map[fileLine]bool{}
	for _, d := range items {
		if d.Secret {
			lines[fileLine{d.Span.File, d.Span.Line}] = true
		}
	}
	return lines
}

func (page *textPrinter) newSnippet(arrow string, span source.Span, label, colour string) lineSnippet {
	return lineSnippet{arrow, span, page.places.PlaceOf(span), label, colour, page.secrets[fileLine{span.File, span.Line}]}
}

func (page *textPrinter) writeDiagnostic(b *strings.Builder, d *Diagnostic) {
	p, colour := page.palette, page.palette.severityColour(d)
	fmt.Fprintf(b, "%s%s[%s]%s: %s\n", colour, d.severityWord(), d.Code, p.Reset, escapeInvisible(d.Message))
	snippets := []lineSnippet{page.newSnippet("-->", d.Span, "", colour)}
	last := snippets[0].place.Line
	for _, r := range d.Related {
		snippets = append(snippets, page.newSnippet(":::", r.Span, r.Message, p.Place))
		last = max(last, snippets[len(snippets)-1].place.Line)
	}
	gutter := strings.Repeat(" ", len(fmt.Sprint(last)))
	for _, s := range snippets {
		s.write(b, gutter, p)
	}
	if d.Waived != nil {
		fmt.Fprintf(b, "%s %s=%s waived until %s: %s\n", gutter, p.Place, p.Reset, escapeInvisible(d.Waived.Until), escapeInvisible(d.Waived.Reason))
	}
	for _, note := range d.Notes {
		fmt.Fprintf(b, "%s %s=%s note: %s\n", gutter, p.Place, p.Reset, escapeInvisible(note))
	}
	for _, help := range d.Help {
		fmt.Fprintf(b, "%s %s=%s %shelp%s: %s\n", gutter, p.Place, p.Reset, p.Help, p.Reset, escapeInvisible(help))
	}
}

// lineSnippet is a line of a file with carets under a token.
type lineSnippet struct {
	arrow         string
	span          source.Span
	place         Place
	label, colour string
	secret        bool
}

func (s lineSnippet) write(b *strings.Builder, gutter string, p Palette) {
	switch {
	case s.span.IsZero():
		return
	case s.place.Line == 0:
		fmt.Fprintf(b, "%s%s%s%s %s\n", gutter, p.Place, s.arrow, p.Reset, escapeInvisible(s.place.File))
		return
	}
	fmt.Fprintf(b, "%s%s%s%s %s:%d:%d\n", gutter, p.Place, s.arrow, p.Reset, escapeInvisible(s.place.File), s.place.Line, s.place.Column)
	if s.secret {
		fmt.Fprintf(b, "%s %s|%s (the line is not shown)\n", gutter, p.Place, p.Reset)
		return
	}
	before, token, after := s.excerpt()
	fmt.Fprintf(b, "%s %s|%s\n", gutter, p.Place, p.Reset)
	fmt.Fprintf(b, "%s%*d |%s %s\n", p.Place, len(gutter), s.place.Line, p.Reset, escapeInvisible(before+token+after))
	marks := blankOfSameWidth(escapeInvisible(before)) + s.colour + strings.Repeat("^", max(1, displayWidth(escapeInvisible(token)))) + p.Reset
	fmt.Fprintf(b, "%s %s|%s %s\n", gutter, p.Place, p.Reset, strings.TrimRight(marks+" "+escapeInvisible(s.label), " "))
}

// maxExcerpt is how many characters of a line are shown.
const maxExcerpt = 400

// excerpt returns the line around the token; of a very long line the part around it, with dots where it is cut.
func (s lineSnippet) excerpt() (before, token, after string) {
	line := []rune(s.span.File.Line(s.place.Line))
	start, end := s.place.Column-1, s.place.EndColumn-1
	if len(line) <= maxExcerpt {
		return string(line[:start]), string(line[start:end]), string(line[end:])
	}
	from := max(0, start-maxExcerpt/2)
	to := min(len(line), from+maxExcerpt)
	end = min(end, to)
	before, after = string(line[from:start]), string(line[end:to])
	if from > 0 {
		before = "…" + before
	}
	if to < len(line) {
		after += "…"
	}
	return before, string(line[start:end]), after
}

// blankOfSameWidth returns the room that text takes. It keeps tabs, so that carets stay under their token whatever the width of a tab is.
func blankOfSameWidth(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\t' {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Repeat(" ", runeWidth(r)))
	}
	return b.String()
}

// displayWidth returns how wide text is on a terminal.
func displayWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// escapeInvisible replaces control characters, line separators and marks that change the direction of text: a spec must not steer the
// reader's terminal, nor show other text than it has (https://trojansource.codes).
func escapeInvisible(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' && r != '\t', r >= 0x7f && r < 0xa0, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
			return utf8.RuneError
		}
		return r
	}, line)
}

func totalsText(items []*Diagnostic) string {
	errors, warnings, waived := 0, 0, 0
	for _, d := range items {
		switch {
		case d.Waived != nil:
			waived++
		case d.Severity == Error:
			errors++
		default:
			warnings++
		}
	}
	var parts []string
	if errors > 0 {
		parts = append(parts, plural(errors, "error"))
	}
	if warnings > 0 {
		parts = append(parts, plural(warnings, "warning"))
	}
	if waived > 0 {
		parts = append(parts, fmt.Sprintf("%d waived", waived))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
