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
func Markdown(w io.Writer, r *semdiff.Report, compared ComparedStates, links Links) error {
	m := markdownWriter{links: links, docs: r.Docs}
	head := m.head(r)
	foot := m.findings(&r.Findings) + fmt.Sprintf("\n<sub>%s · %s</sub>\n", escapeMarkdown(compared.String()), totalsLine(r))
	room := MarkdownLimit - characterCount(head) - characterCount(foot) - characterCount(links.Full)*2 - reserve
	// Details have what the table leaves.
	table, rows := m.entryTable(r, room)
	details := m.entryDetails(r, room-characterCount(table))
	_, err := io.WriteString(w, head+table+m.missingNote(len(r.Entries)-rows)+details+foot)
	return err
}

// reserve is for the words about what has no room.
const reserve = 600

func characterCount(text string) int { return utf8.RuneCountInString(text) }

type markdownWriter struct {
	links Links
	// docs is the address of the pages about rules and codes, or empty.
	docs string
}

// codeLink is a word in code, with a link if there is a page about it.
func codeLink(word, address string) string {
	if address == "" {
		return "`" + word + "`"
	}
	return fmt.Sprintf("[`%s`](%s)", word, address)
}

func (m *markdownWriter) head(r *semdiff.Report) string {
	return fmt.Sprintf("%s\n## What this changes: %s\n\n%s\n", Marker, headline(r), escapeMarkdown(r.Verdict)) + m.besideEntries(&r.Findings)
}

// besideEntries lists what is amber and no entry: waivers that accept more than before, and files that decide about reviews.
func (m *markdownWriter) besideEntries(f *group.Findings) string {
	var b strings.Builder
	for i := range f.Waivers[:min(toldSeverities, len(f.Waivers))] {
		if w := &f.Waivers[i]; w.Accepts() {
			fmt.Fprintf(&b, "\n%s waiver %s: %s (%s)\n", badges[rule.Warning], escapeMarkdown(waiverText(w)), escapeMarkdown(w.Reason), m.placeLink(w.At, m.links.After))
		}
	}
	for _, file := range f.Deciding[:min(toldSeverities, len(f.Deciding))] {
		fmt.Fprintf(&b, "\n%s %s\n", badges[rule.Warning], escapeMarkdown(decidingText(file)))
	}
	if left := len(f.Deciding) - toldSeverities; left > 0 {
		fmt.Fprintf(&b, "\nand %s more that decide about reviews\n", plural(left, "file"))
	}
	return b.String()
}

var badges = map[rule.Severity]string{rule.Critical: "🔴", rule.Warning: "🟠", rule.Notice: "🔵", rule.Info: "⚪"}

// entryTable has a row for each entry that there is room for, and says how many.
func (m *markdownWriter) entryTable(r *semdiff.Report, room int) (string, int) {
	if len(r.Entries) == 0 {
		return "", 0
	}
	var b strings.Builder
	b.WriteString("\n| | what | for | where |\n|---|---|---|---|\n")
	room -= characterCount(b.String())
	for i := range r.Entries {
		e := &r.Entries[i]
		row := fmt.Sprintf("| %s %s | %s<br>%s | %s | %s |\n", badges[e.Severity], e.Severity, escapeMarkdown(e.Title), codeLink(string(e.Consequence), rule.PageURL(m.docs, e.Rule)),
			escapeMarkdown(affectedText(&e.Affected)), m.placeOfEntry(e))
		if room -= characterCount(row); room < 0 {
			return b.String(), i
		}
		b.WriteString(row)
	}
	return b.String(), len(r.Entries)
}

func (m *markdownWriter) placeOfEntry(e *group.Entry) string {
	if !e.After.IsZero() {
		return m.placeLink(e.After, m.links.After)
	}
	if !e.Before.IsZero() {
		return m.placeLink(e.Before, m.links.Before) + " (before)"
	}
	return ""
}

// placeLink is a line of a spec, with a link where there is an address.
func (m *markdownWriter) placeLink(at source.Span, address string) string {
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
		return "[" + name + "](" + escapeTarget(link) + ")"
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

// escapeTarget returns an address as Markdown has it.
func escapeTarget(address string) string { return targets.Replace(address) }

var targets = strings.NewReplacer("(", "%28", ")", "%29", "|", "%7C", " ", "%20", "<", "%3C", ">", "%3E", "\n", "%0A")

// entryDetails are the samples of entries, as far as there is room, and their YAML, as far as that leaves some. Entries
// for information get what the others leave.
func (m *markdownWriter) entryDetails(r *semdiff.Report, room int) string {
	left, without := 0, 0
	parts := make([]string, len(r.Entries))
	lines := yamlRoom(maxAllCompiled)
	for _, informs := range []bool{false, true} {
		var shown []int
		for i := range r.Entries {
			if (r.Entries[i].Severity == rule.Info) != informs {
				continue
			}
			detail := m.entryDetail(&r.Entries[i])
			if size := characterCount(detail); room < size {
				left++
			} else {
				room -= size
				parts[i], shown = detail, append(shown, i)
			}
		}
		for _, i := range shown {
			fold := foldedYAML(lines.compiledYAML(&r.Entries[i], maxCompiledInComment))
			if size := characterCount(fold); room < size {
				without++
			} else {
				room -= size
				parts[i] = strings.TrimSuffix(parts[i], endOfDetails) + fold + endOfDetails
			}
		}
	}
	all := strings.Join(parts, "")
	if left > 0 {
		all += fmt.Sprintf("\nThe details of %s have no room here%s.\n", plural(left, "change"), m.fullReportLink())
	}
	if without > 0 {
		all += fmt.Sprintf("\nThe YAML of %s has no room here%s; `diff --yaml` prints it.\n",
			plural(without, "change"), m.fullReportLink())
	}
	return all
}

const endOfDetails = "\n</details>\n"

// foldedYAML is YAML behind a fold. Within a fence only its end is read, and by pipelines the marker of the comment.
func foldedYAML(lines []yamlLine) string {
	if len(lines) == 0 {
		return ""
	}
	text := strings.NewReplacer("`", "'", "<!--", "<!").Replace(yamlText(lines))
	return "\n<details><summary>compiled</summary>\n\n```diff\n" + text + "```\n" + endOfDetails
}

func (m *markdownWriter) entryDetail(e *group.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>%s %s: %s</summary>\n\n", badges[e.Severity], e.Severity, escapeMarkdown(e.Title))
	fmt.Fprintf(&b, "%s\n\n", e.Consequence.Meaning())
	if jobs := jobsMeaning(e.Jobs); jobs != "" {
		b.WriteString(escapeMarkdown("Running jobs"+whoseJobs(e)+" "+jobs+".") + "\n\n")
	}
	for _, line := range sampleLines(e) {
		fmt.Fprintf(&b, "- %s\n", escapeMarkdown(line))
	}
	if more := e.Count - len(e.Samples); more > 0 {
		fmt.Fprintf(&b, "- and %s more\n", groupThousands(more))
	}
	for _, w := range e.Waived {
		fmt.Fprintf(&b, "\nAccepted until %s: %s (%s)\n", escapeMarkdown(w.Until), escapeMarkdown(w.Reason), w.Code)
	}
	if !e.Before.IsZero() && !e.After.IsZero() && !samePlace(e.Before, e.After) {
		fmt.Fprintf(&b, "\nBefore: %s\n", m.placeLink(e.Before, m.links.Before))
	}
	if e.Help != "" {
		fmt.Fprintf(&b, "\n**What to do:** %s\n", escapeMarkdown(e.Help))
	}
	b.WriteString(endOfDetails)
	return b.String()
}

// findings are what the compiler says now and did not say before, and what is accepted.
func (m *markdownWriter) findings(f *group.Findings) string {
	var b strings.Builder
	found := findingsOf(f.New)
	for _, one := range found[:min(toldSeverities, len(found))] {
		fmt.Fprintf(&b, "- %s: %s%s (%s, %s)\n", one.Severity, escapeMarkdown(one.Message), moreLikeIt(one.More), m.placeLink(one.At, m.links.After), codeLink(one.Code, diag.Code(one.Code).URL(m.docs)))
	}
	text := m.foldedList("New findings of the compiler", len(found), b.String())
	b.Reset()
	all := joinWaivers(f.Waived)
	for _, w := range all[:min(toldSeverities, len(all))] {
		fmt.Fprintf(&b, "- until %s%s: %s%s (%s, %s)\n", escapeMarkdown(w.Until), newMark(w.New), escapeMarkdown(w.Reason), moreLikeIt(w.More), m.placeLink(w.At, m.links.After), codeLink(w.Code, diag.Code(w.Code).URL(m.docs)))
	}
	text += m.foldedList("Accepted by waivers", len(all), b.String())
	b.Reset()
	for i := range f.Waivers[:min(toldSeverities, len(f.Waivers))] {
		w := &f.Waivers[i]
		links := m.links.After
		if w.How == group.WaiverRemoved {
			links = m.links.Before
		}
		fmt.Fprintf(&b, "- %s: %s (%s, %s)\n", escapeMarkdown(waiverText(w)), escapeMarkdown(w.Reason), m.placeLink(w.At, links), codeLink(w.Code, diag.Code(w.Code).URL(m.docs)))
	}
	text += m.foldedList("Waivers that change", len(f.Waivers), b.String())
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

// foldedList is a list behind its heading; "" where it is empty.
func (m *markdownWriter) foldedList(heading string, n int, list string) string {
	if n == 0 {
		return ""
	}
	if n > toldSeverities {
		list += fmt.Sprintf("- and %s more%s\n", groupThousands(n-toldSeverities), m.fullReportLink())
	}
	return fmt.Sprintf("\n<details><summary>%s: %s</summary>\n\n%s\n</details>\n", heading, groupThousands(n), list)
}

// fullReportLink leads to what has no room.
func (m *markdownWriter) fullReportLink() string {
	if m.links.Full == "" {
		return ""
	}
	return ", but in the [whole report](" + escapeTarget(m.links.Full) + ")"
}

func (m *markdownWriter) missingNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s of less weight had no room in the table%s.\n", plural(n, "change"), m.fullReportLink())
}

// escapeMarkdown makes a text of specs harmless: the author of a pull request must not draw, link or call people in its comment. Forges look
// for references in the text that is left after Markdown, so that a backslash does not keep them: an empty comment within does.
func escapeMarkdown(text string) string { return marks.Replace(escapeControl(text)) }

var marks = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "$", `\$`,
	"@", "@<!-- -->", "#", "#<!-- -->", "!", "!<!-- -->", "~", "~<!-- -->", "%", "%<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.",
	"GH-", "GH<!-- -->-",
)
