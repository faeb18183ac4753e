package render

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// MarkdownLimit is the largest Markdown that is written, in characters. GitHub takes comments of 65,536, GitLab of 1,000,000.
const MarkdownLimit = 60_000

// Marker begins every Markdown report, so that a pipeline finds the comment that it wrote before, and updates it.
const Marker = "<!-- lockstep-review -->"

// Links turn places into addresses. The zero Links has none.
type Links struct {
	// After and Before are addresses of a line of a file on either side, with {path} and {line} in them; "" for none.
	After, Before string
	// Full is the address of the whole report, for what a comment has no room for; "" for none.
	Full string
}

// Markdown writes a report as the comment on a pull request: the verdict, a table of entries, and the details of each, folded. What has
// no room is counted, and never left out in silence.
func Markdown(w io.Writer, r *semdiff.Report, compared Compared, links Links) error {
	m := markdown{links: links}
	head := m.head(r)
	foot := m.findings(&r.Findings) + fmt.Sprintf("\n<sub>%s · %s</sub>\n", escaped(compared.String()), totals(r))
	room := MarkdownLimit - length(head) - length(foot) - length(links.Full)*2 - reserve
	// Details have what the table leaves.
	table, rows := m.table(r, room)
	details := m.details(r, room-length(table))
	_, err := io.WriteString(w, head+table+m.missing(len(r.Entries)-rows)+details+foot)
	return err
}

// reserve is for the words about what has no room.
const reserve = 600

func length(text string) int { return utf8.RuneCountInString(text) }

type markdown struct{ links Links }

func (m *markdown) head(r *semdiff.Report) string {
	return fmt.Sprintf("%s\n## What this changes: %s\n\n%s\n", Marker, headline(r), escaped(r.Verdict)) + m.beside(&r.Findings)
}

// beside lists what is amber and no entry: waivers that accept more than before, and files that decide about reviews.
func (m *markdown) beside(f *group.Findings) string {
	var b strings.Builder
	for i := range f.Waivers[:min(toldSeverities, len(f.Waivers))] {
		if w := &f.Waivers[i]; w.Accepts() {
			fmt.Fprintf(&b, "\n%s waiver %s: %s (%s)\n", badges[rule.Warning], escaped(waiverText(w)), escaped(w.Reason), m.place(w.At, m.links.After))
		}
	}
	for _, file := range f.Deciding[:min(toldSeverities, len(f.Deciding))] {
		fmt.Fprintf(&b, "\n%s %s\n", badges[rule.Warning], escaped(decidingText(file)))
	}
	if left := len(f.Deciding) - toldSeverities; left > 0 {
		fmt.Fprintf(&b, "\nand %s more that decide about reviews\n", plural(left, "file"))
	}
	return b.String()
}

var badges = map[rule.Severity]string{rule.Critical: "🔴", rule.Warning: "🟠", rule.Notice: "🔵", rule.Info: "⚪"}

// table has a row for each entry that there is room for, and says how many.
func (m *markdown) table(r *semdiff.Report, room int) (string, int) {
	if len(r.Entries) == 0 {
		return "", 0
	}
	var b strings.Builder
	b.WriteString("\n| | what | for | where |\n|---|---|---|---|\n")
	room -= length(b.String())
	for i := range r.Entries {
		e := &r.Entries[i]
		row := fmt.Sprintf("| %s %s | %s<br>[`%s`](%s) | %s | %s |\n", badges[e.Severity], e.Severity, escaped(e.Title), e.Consequence, rule.Page(e.Rule),
			escaped(affectedText(&e.Affected)), m.where(e))
		if room -= length(row); room < 0 {
			return b.String(), i
		}
		b.WriteString(row)
	}
	return b.String(), len(r.Entries)
}

func (m *markdown) where(e *group.Entry) string {
	if !e.After.IsZero() {
		return m.place(e.After, m.links.After)
	}
	if !e.Before.IsZero() {
		return m.place(e.Before, m.links.Before) + " (before)"
	}
	return ""
}

// place is a line of a spec, with a link where there is an address.
func (m *markdown) place(at source.Span, address string) string {
	if at.IsZero() {
		return "no line of a spec"
	}
	name := strings.ReplaceAll(escapeControl(at.Path()), "`", "'")
	if at.Line > 0 {
		name += ":" + strconv.Itoa(at.Line)
	}
	// A bar ends a cell of a table even in a code span, where only the table takes the backslash away.
	name = "`" + strings.ReplaceAll(name, "|", `\|`) + "`"
	if link := lineLink(at, address); link != "" {
		return "[" + name + "](" + target(link) + ")"
	}
	return name
}

// lineLink is the address of a line, "" where there is none.
func lineLink(at source.Span, address string) string {
	if address == "" || at.IsZero() {
		return ""
	}
	segments := strings.Split(at.Path(), "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.NewReplacer("{path}", strings.Join(segments, "/"), "{line}", strconv.Itoa(max(1, at.Line))).Replace(address)
}

// target is an address in Markdown.
func target(address string) string { return targets.Replace(address) }

var targets = strings.NewReplacer("(", "%28", ")", "%29", "|", "%7C", " ", "%20", "<", "%3C", ">", "%3E", "\n", "%0A")

// details are the samples of entries, as far as there is room. Entries that no user notices need none.
func (m *markdown) details(r *semdiff.Report, room int) string {
	var b strings.Builder
	left := 0
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Severity == rule.Info {
			continue
		}
		part := m.detail(e)
		if room-length(part) < 0 {
			left++
			continue
		}
		room -= length(part)
		b.WriteString(part)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\nThe details of %s have no room here%s.\n", plural(left, "change"), m.full())
	}
	return b.String()
}

func (m *markdown) detail(e *group.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>%s %s: %s</summary>\n\n", badges[e.Severity], e.Severity, escaped(e.Title))
	fmt.Fprintf(&b, "%s\n\n", e.Consequence.Meaning())
	if jobs := jobsMeaning(e.Jobs); jobs != "" {
		fmt.Fprintf(&b, "Running jobs%s %s.\n\n", escaped(jobsOf(e)), jobs)
	}
	for _, line := range samples(e) {
		fmt.Fprintf(&b, "- %s\n", escaped(line))
	}
	if more := e.Count - len(e.Samples); more > 0 {
		fmt.Fprintf(&b, "- and %s more\n", number(more))
	}
	for _, w := range e.Waived {
		fmt.Fprintf(&b, "\nAccepted until %s: %s (%s)\n", escaped(w.Until), escaped(w.Reason), w.Code)
	}
	if !e.Before.IsZero() && !e.After.IsZero() && !same(e.Before, e.After) {
		fmt.Fprintf(&b, "\nBefore: %s\n", m.place(e.Before, m.links.Before))
	}
	if e.Help != "" {
		fmt.Fprintf(&b, "\n**What to do:** %s\n", escaped(e.Help))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

// findings are what the compiler says now and did not say before, and what is accepted.
func (m *markdown) findings(f *group.Findings) string {
	var b strings.Builder
	found := findingsOf(f.New)
	for _, one := range found[:min(toldSeverities, len(found))] {
		fmt.Fprintf(&b, "- %s: %s%s (%s, [`%s`](%s))\n", one.severity, escaped(one.message), moreLikeIt(one.more), m.place(one.at, m.links.After), one.code, diag.Code(one.code).URL())
	}
	text := m.folded("New findings of the compiler", len(found), b.String())
	b.Reset()
	all := waivers(f.Waived)
	for _, w := range all[:min(toldSeverities, len(all))] {
		fmt.Fprintf(&b, "- until %s%s: %s%s (%s, [`%s`](%s))\n", escaped(w.Until), newMark(w.New), escaped(w.Reason), moreLikeIt(w.more), m.place(w.At, m.links.After), w.Code, diag.Code(w.Code).URL())
	}
	text += m.folded("Accepted by waivers", len(all), b.String())
	b.Reset()
	for i := range f.Waivers[:min(toldSeverities, len(f.Waivers))] {
		w := &f.Waivers[i]
		links := m.links.After
		if w.How == group.WaiverRemoved {
			links = m.links.Before
		}
		fmt.Fprintf(&b, "- %s: %s (%s, [page of the code](%s))\n", escaped(waiverText(w)), escaped(w.Reason), m.place(w.At, links), diag.Code(w.Code).URL())
	}
	text += m.folded("Waivers that change", len(f.Waivers), b.String())
	if n := len(findingsOf(f.Fixed)); n > 0 {
		text += fmt.Sprintf("\n%s of before %s gone.\n", plural(n, "finding"), isOrAre(n))
	}
	return text
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// folded is a list behind its heading; "" where it is empty.
func (m *markdown) folded(heading string, n int, list string) string {
	if n == 0 {
		return ""
	}
	if n > toldSeverities {
		list += fmt.Sprintf("- and %s more%s\n", number(n-toldSeverities), m.full())
	}
	return fmt.Sprintf("\n<details><summary>%s: %s</summary>\n\n%s\n</details>\n", heading, number(n), list)
}

// full leads to what has no room.
func (m *markdown) full() string {
	if m.links.Full == "" {
		return ""
	}
	return ", but in the [whole report](" + target(m.links.Full) + ")"
}

func (m *markdown) missing(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s of less weight had no room in the table%s.\n", plural(n, "change"), m.full())
}

// escaped makes a text of specs harmless: the author of a pull request must not draw, link or call people in its comment. Forges look
// for references in the text that is left after Markdown, so that a backslash does not keep them: an empty comment within does.
func escaped(text string) string { return marks.Replace(escapeControl(text)) }

var marks = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "$", `\$`,
	"@", "@<!-- -->", "#", "#<!-- -->", "!", "!<!-- -->", "~", "~<!-- -->", "%", "%<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.",
	"GH-", "GH<!-- -->-",
)
