package diag

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Edit is a replacement that puts a mistake right: the text of Span becomes Text. It is offered where it is known to be safe to
// make, so that editors and bots can make it.
type Edit struct {
	Span source.Span
	// Text is as a file spells it, quotes included where it needs them.
	Text string
}

// Suggest adds `did you mean` where a candidate is close to what was written, and the edit.
func (d *Diagnostic) Suggest(got string, candidates []string) *Diagnostic {
	if nearest, ok := Nearest(got, candidates); ok {
		return d.Meant(got, nearest)
	}
	return d
}

// Meant adds `did you mean`, and the edit that replaces what was written at the primary span.
func (d *Diagnostic) Meant(got, meant string) *Diagnostic {
	return d.OfferReplacement(got, meant).Helpf("did you mean `%s`?", meant)
}

// OfferReplacement offers a value in the place of what was written at the primary span. There is no edit where the text there is not what
// was written: an alias, a string with escapes, an expression, the key around a default.
func (d *Diagnostic) OfferReplacement(got, value string) *Diagnostic {
	token := Underlined(d.Span)
	switch {
	case token == "":
	case token == got && !strings.HasSuffix(d.Span.Path(), "sonnet"): // in Jsonnet text without quotes is an expression
		d.Edit = &Edit{Span: d.Span, Text: plainYAML(value)}
	case token == `"`+got+`"` || token == `'`+got+`'`:
		if quoted, ok := quoteLike(value, token[:1]); ok {
			d.Edit = &Edit{Span: d.Span, Text: quoted}
		}
	}
	return d
}

// SuggestWriting adds `write …` and the edit of OfferLiteral.
func (d *Diagnostic) SuggestWriting(got, text string) *Diagnostic {
	return d.OfferLiteral(got, text).Helpf("write `%s`", text)
}

// OfferLiteral offers a text as it is in the place of what was written at the primary span and its quotes: for values that are not text,
// such as true or 443, and for those that need other quotes.
func (d *Diagnostic) OfferLiteral(got, text string) *Diagnostic {
	switch token := Underlined(d.Span); {
	case token == got && !strings.HasSuffix(d.Span.Path(), "sonnet"), token == `"`+got+`"`, token == `'`+got+`'`:
		d.Edit = &Edit{Span: d.Span, Text: text}
	}
	return d
}

// Underlined returns the text of a span, cut at the end of its line; "" in a line that is not measurable, as others find no token there.
func Underlined(span source.Span) string {
	if span.Line < 1 || span.IsZero() || !span.File.Measurable(span.Line) {
		return ""
	}
	text := []rune(span.File.Line(span.Line))
	start := min(max(0, span.Column-1), len(text))
	end := min(start+max(0, span.Length), len(text))
	return string(text[start:end])
}

// plainYAML returns a value as YAML spells it where nothing was quoted. Words and amounts of memory need no quotes.
func plainYAML(value string) string {
	if isPlainWord(value) || isAmount(value) {
		return value
	}
	return strconv.Quote(value)
}

// isPlainWord reports whether a value is a string without quotes, in YAML 1.1 as well.
func isPlainWord(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return false
	}
	const first = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	return value != "" && strings.Contains(first, value[:1]) && strings.Trim(value, first+"0123456789./-") == ""
}

func isAmount(value string) bool {
	number := strings.TrimRight(value, "KMGTPEi")
	return number != "" && number != value && strings.Trim(number, "0123456789") == ""
}

// quoteLike keeps the quotes of the token; a value that would need escapes has no edit.
func quoteLike(value, mark string) (string, bool) {
	if strings.ContainsAny(value, `"'\`) {
		return "", false
	}
	return mark + value + mark, true
}
