package render

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// named is how many names are written out; of more there is a number, and the first three.
const named = 6

// blast says whom an entry touches: `2 tenants (a, b), cluster onprem`.
func blast(b *semdiff.Blast) string {
	var parts []string
	for _, part := range []struct {
		noun  string
		names []string
	}{{"tenant", b.Tenants}, {"runtime", b.Runtimes}, {"namespace", b.Namespaces}, {"cluster", b.Clusters}} {
		if len(part.names) > 0 {
			parts = append(parts, counted(part.noun, part.names))
		}
	}
	return strings.Join(parts, ", ")
}

func counted(noun string, names []string) string {
	switch {
	case len(names) == 1:
		return noun + " " + names[0]
	case len(names) <= named:
		return fmt.Sprintf("%d %ss (%s)", len(names), noun, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s %ss (%s, …)", number(len(names)), noun, strings.Join(names[:3], ", "))
}

// number writes thousands apart: 12,345.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// totals is the last line: what was compared, and how much of it is different.
func totals(r *semdiff.Report) string {
	t := &r.Totals
	var counts []string
	for _, part := range []struct {
		n    int
		word string
	}{{t.Added, "added"}, {t.Removed, "removed"}, {t.Renamed, "renamed"}, {t.Changed, "changed"}} {
		if part.n > 0 {
			counts = append(counts, number(part.n)+" "+part.word)
		}
	}
	if len(counts) == 0 {
		counts = []string{"none is different"}
	}
	return fmt.Sprintf("%s: %s (%s that may differ compared)", plural(len(r.Entries), "change"), "objects: "+strings.Join(counts, ", "), number(t.Objects))
}

// wrapped breaks a text into lines of at most so many characters; all but the first are indented. Words are never broken.
func wrapped(text, indent string, most int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > most-len(indent):
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}
