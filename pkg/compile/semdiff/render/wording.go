package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// named is how many names are written out; of more there is a number, and the first three.
const named = 6

// affectedText says whom an entry touches: `2 tenants (a, b) on cluster onprem`. Namespaces that are called as their tenant go without saying.
func affectedText(b *group.AffectedNames) string {
	var parts []string
	spaces := slices.DeleteFunc(slices.Clone(b.Namespaces), func(name string) bool { return slices.Contains(b.Tenants, name) })
	for _, part := range []struct {
		noun  string
		names []string
	}{{"tenant", b.Tenants}, {"runtime", b.Runtimes}, {"namespace", spaces}} {
		if len(part.names) > 0 {
			parts = append(parts, countedNames(part.noun, part.names))
		}
	}
	who, where := strings.Join(parts, ", "), ""
	if len(b.Clusters) > 0 {
		where = countedNames("cluster", b.Clusters)
	}
	if who != "" && where != "" {
		who += " on "
	}
	return who + where
}

func countedNames(noun string, names []string) string {
	switch {
	case len(names) == 1:
		return noun + " " + names[0]
	case len(names) <= named:
		return fmt.Sprintf("%d %ss (%s)", len(names), noun, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s %ss (%s, …)", groupThousands(len(names)), noun, strings.Join(names[:3], ", "))
}

// joinAnd joins words: `a, b and c`.
func joinAnd(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// severityCounts counts entries: `1 critical change, 2 warnings`, "" where there are none.
func severityCounts(r *semdiff.Report) string {
	var parts []string
	for _, s := range rule.Severities() {
		switch n := r.Totals.BySeverity[s]; {
		case n == 0:
		case s == rule.Critical:
			parts = append(parts, groupThousands(n)+" critical")
		case s == rule.Info:
			parts = append(parts, groupThousands(n)+" for information")
		default:
			parts = append(parts, plural(n, s.String()))
		}
	}
	return strings.Join(parts, ", ")
}

// headline counts what a reviewer looks at first: what check refuses, entries, waivers that accept more, files that decide about reviews. Where
// the state before does not compile it promises nothing.
func headline(r *semdiff.Report) string {
	var parts []string
	if n := r.Findings.Errors; n > 0 {
		parts = append(parts, "refused with "+plural(n, "error"))
	}
	if counts := severityCounts(r); counts != "" {
		parts = append(parts, counts)
	}
	if n := countAccepting(&r.Findings); n > 0 {
		parts = append(parts, plural(n, "waiver"))
	}
	if n := len(r.Findings.Deciding); n > 0 {
		parts = append(parts, plural(n, "file")+" about reviews")
	}
	nothing := "no changes"
	if r.Findings.Uncompiled {
		nothing = "not compared"
	}
	return cmp.Or(strings.Join(parts, ", "), nothing)
}

// countAccepting is how many waivers accept more than before.
func countAccepting(f *group.Findings) int {
	n := 0
	for i := range f.Waivers {
		if f.Waivers[i].Accepts() {
			n++
		}
	}
	return n
}

// escapeControl replaces characters that steer a terminal, turn the direction of writing, or break a line, and bounds the length: texts
// come from specs, and the author of a pull request writes them.
func escapeControl(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co):
			return '�'
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > longest {
		text = string([]rune(text)[:longest-1]) + "…"
	}
	return text
}

// longest is how many characters of one text are shown.
const longest = 1000

// groupThousands writes thousands apart: 12,345.
func groupThousands(n int) string {
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
	return groupThousands(n) + " " + noun + "s"
}

// totalsLine is the last line: what was compared, and how much of it is different.
func totalsLine(r *semdiff.Report) string {
	t := &r.Totals
	var counts []string
	for _, part := range []struct {
		n    int
		word string
	}{{t.Added, "added"}, {t.Removed, "removed"}, {t.Renamed, "renamed"}, {t.Changed, "changed"}} {
		if part.n > 0 {
			counts = append(counts, groupThousands(part.n)+" "+part.word)
		}
	}
	if len(counts) == 0 {
		counts = []string{"none does"}
	}
	return fmt.Sprintf("%s; of %s that may differ: %s", plural(len(r.Entries), "change"), plural(t.Objects, "object"), joinAnd(counts))
}

// wrapText breaks a text into lines of at most so many characters; all but the first are indented. Words are never broken.
func wrapText(text, indent string, most int) string {
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
