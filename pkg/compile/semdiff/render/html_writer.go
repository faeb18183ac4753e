package render

import (
	"bufio"
	"html"
	"strconv"
	"strings"
)

// markup writes HTML without a template engine: those call methods by name, and then the linker keeps every method of every type that
// the program has, which each of its runs would pay for.
//
// Its formats are constants of this package; what comes from specs is an argument, and every argument is escaped.
type markup struct{ *bufio.Writer }

// put writes a format, in which %s stands for the next argument, in the text of an element or in an attribute between double quotes.
func (m markup) put(format string, arguments ...string) {
	for _, argument := range arguments {
		before, after, _ := strings.Cut(format, "%s")
		m.raw(before)
		m.raw(html.EscapeString(argument))
		format = after
	}
	m.raw(format)
}

// raw writes what is HTML already. A bufio.Writer keeps its error until it is flushed.
func (m markup) raw(text string) { _, _ = m.WriteString(text) }

// putIfSet writes a format where its argument is not empty.
func (m markup) putIfSet(format, argument string) {
	if argument != "" {
		m.put(format, argument)
	}
}

// putBreakable writes a long name that a narrow page breaks behind its slashes, not in a word.
func (m markup) putBreakable(name string) {
	for before, rest, found := strings.Cut(name, "/"); ; before, rest, found = strings.Cut(rest, "/") {
		m.put("%s", before)
		if !found {
			return
		}
		m.raw("/<wbr>")
	}
}

// putEach writes an element for each text.
func (m markup) putEach(format string, texts []string) {
	for _, text := range texts {
		m.put(format, text)
	}
}

// putLink writes a text that leads to an address, if there is one.
func (m markup) putLink(to, text string) {
	if to == "" {
		m.put("%s", text)
		return
	}
	m.put(`<a href="%s">%s</a>`, safeAddress(to), text)
}

// safeAddress is a link that a browser may follow: no other kind than the two of the web, and relative ones.
func safeAddress(link string) string {
	scheme, _, found := strings.Cut(link, ":")
	if !found || strings.ContainsAny(scheme, "/?#") || strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http") {
		return link
	}
	return "#"
}

func decimal(n int) string { return strconv.Itoa(n) }
