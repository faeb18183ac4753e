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

// when writes a format where its argument is not empty.
func (m markup) when(format, argument string) {
	if argument != "" {
		m.put(format, argument)
	}
}

// breakable writes a long name that a narrow page breaks behind its slashes, not in a word.
func (m markup) breakable(name string) {
	for before, rest, found := strings.Cut(name, "/"); ; before, rest, found = strings.Cut(rest, "/") {
		m.put("%s", before)
		if !found {
			return
		}
		m.raw("/<wbr>")
	}
}

// list writes an element for each text.
func (m markup) list(format string, texts []string) {
	for _, text := range texts {
		m.put(format, text)
	}
}

// link writes a text that leads to an address, if there is one.
func (m markup) link(to, text string) {
	if to == "" {
		m.put("%s", text)
		return
	}
	m.put(`<a href="%s">%s</a>`, address(to), text)
}

// address is a link that a browser may follow: no other kind than the two of the web, and relative ones.
func address(link string) string {
	scheme, _, found := strings.Cut(link, ":")
	if !found || strings.ContainsAny(scheme, "/?#") || strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http") {
		return link
	}
	return "#"
}

func decimal(n int) string { return strconv.Itoa(n) }
