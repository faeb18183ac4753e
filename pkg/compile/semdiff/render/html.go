package render

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The page is one file: its style and its script are in it, and its policy allows those two and nothing else, by their digests. Without
// the script everything is there but the filters.
var (
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string

	pagePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" + digest(pageStyle) + "'; script-src '" + digest(pageScript) + "'"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// What bounds the size of a page, which stays below 4 MB; the rest is counted, and in the format json.
const (
	// maxEntries is how many entries a page has.
	maxEntries = 1000
	// maxNames is how many names of one entry are written out, maxAllNames of all entries.
	maxNames, maxAllNames = 200, 50_000
	// maxFilters is how many numbers of tenants all entries have, by which they are filtered. An entry beyond is there for every tenant.
	maxFilters = 100_000
	// maxLine is how many characters of a line of a spec are shown.
	maxLine = 240
)

// HTML writes a report as a page for reviewers: the verdict, changes with filters, who reaches whom before and after, quota before and
// after, findings and waivers. Reachability is there if the report has what was proven (review.Options.Whole).
func HTML(w io.Writer, r *semdiff.Report, compared Compared, links Links) error {
	v := viewer{links: links, tenants: map[string]int{}, hidden: hidden(r)}
	out := bufio.NewWriter(w)
	v.page(r, compared).write(markup{out})
	return out.Flush()
}

// hidden are the lines that nobody may show.
func hidden(r *semdiff.Report) map[spot]bool {
	lines := map[spot]bool{}
	for _, list := range [][]*diag.Diagnostic{r.Findings.New, r.Findings.Fixed} {
		for _, d := range list {
			if d.Secret {
				lines[lineSpot(d.Span)] = true
			}
		}
	}
	return lines
}

func lineSpot(at source.Span) spot { return spot{at: at.Path() + ":" + strconv.Itoa(at.Line)} }

// The views are what is written.
type (
	pageView struct {
		Title, Verdict, Compared string
		Totals                   string
		Full                     string
		Severities               []countView
		Consequences             []countView
		Clusters, Tenants        []string
		Entries                  []entryView
		Left                     string
		Matrices                 []matrix
		Quiet                    string
		Gauges                   []gauge
		MoreGauges               string
		Findings, Fixed          []findingView
		Waivers                  []waiverView
		WaiverChanges            []waiverChangeView
	}
	countView struct {
		Name, Label, Meaning string
		Count                string
		N                    int
	}
	entryView struct {
		Number                       int
		Severity, Consequence        string
		Title, Meaning, Jobs, Help   string
		Rule, Page                   string
		For                          string
		Names                        []namesView
		Samples                      []string
		More                         string
		Lines                        []lineView
		Waived                       []waiverView
		FilterTenants, FilterCluster string
	}
	namesView struct{ Noun, Names string }
	lineView  struct {
		// Mark is + for the line afterwards and − for that before.
		Mark, Class, Place, Link, Text string
	}
	findingView struct {
		Severity, Code, Page, Message string
		Line                          *lineView
	}
	waiverView struct {
		Code, Page, Until, Reason, New string
		Line                           *lineView
	}
	waiverChangeView struct {
		Code, Page, What, Reason string
		Line                     *lineView
	}
)

// viewer makes views of a report.
type viewer struct {
	links Links
	// tenants have numbers, by which entries are filtered.
	tenants map[string]int
	filters int
	// named is how many names were written out.
	named  int
	hidden map[spot]bool
}

func (v *viewer) page(r *semdiff.Report, compared Compared) *pageView {
	p := &pageView{
		Title: or(severities(r), "no changes"), Verdict: harmless(r.Verdict), Compared: harmless(compared.String()), Totals: totals(r), Full: v.links.Full,
		Findings: v.findings(r.Findings.New), Fixed: v.findings(r.Findings.Fixed), Waivers: v.waivers(waivers(r.Findings.Waived)), WaiverChanges: v.waiverChanges(r.Findings.Waivers),
	}
	var quiet []string
	if p.Matrices, quiet = matrices(r); len(quiet) > 0 {
		p.Quiet = "The same ways are open as before on " + counted("cluster", quiet) + "."
	}
	v.filterable(p, r)
	for i := range r.Entries[:min(maxEntries, len(r.Entries))] {
		p.Entries = append(p.Entries, v.entry(i+1, &r.Entries[i]))
	}
	if left := len(r.Entries) - maxEntries; left > 0 {
		p.Left = plural(left, "change") + " of less weight have no room on this page; the format json has them all."
	}
	var left int
	if p.Gauges, left = gauges(r); left > 0 {
		p.MoreGauges = plural(left, "more resource") + " differ, for which there is no room."
	}
	return p
}

// filterable collects by what changes can be filtered.
func (v *viewer) filterable(p *pageView, r *semdiff.Report) {
	consequences := map[semdiff.Consequence]int{}
	tenants, clusters := map[string]bool{}, map[string]bool{}
	for i := range r.Entries {
		e := &r.Entries[i]
		consequences[e.Consequence]++
		for _, name := range e.Blast.Tenants {
			tenants[name] = true
		}
		for _, name := range e.Blast.Clusters {
			clusters[name] = true
		}
	}
	for _, s := range semdiff.Severities() {
		p.Severities = append(p.Severities, countView{Name: s.String(), Label: labels[s], Meaning: s.Meaning(), Count: number(r.Totals.BySeverity[s]), N: r.Totals.BySeverity[s]})
	}
	for _, c := range semdiff.Consequences() {
		if n := consequences[c]; n > 0 {
			p.Consequences = append(p.Consequences, countView{Name: string(c), Label: strings.ReplaceAll(string(c), "-", " "), Meaning: c.Meaning(), Count: number(n), N: n})
		}
	}
	p.Tenants, p.Clusters = sortedKeys(tenants), sortedKeys(clusters)
	for i, name := range p.Tenants {
		v.tenants[name] = i
		p.Tenants[i] = harmless(name)
	}
	for i, name := range p.Clusters {
		p.Clusters[i] = harmless(name)
	}
}

// labels are severities, many of them.
var labels = map[semdiff.Severity]string{semdiff.Critical: "critical", semdiff.Warning: "warnings", semdiff.Notice: "notices", semdiff.Info: "for information"}

func sortedKeys(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func (v *viewer) entry(n int, e *semdiff.Entry) entryView {
	own := entryView{
		Number: n, Severity: e.Severity.String(), Consequence: string(e.Consequence), Title: harmless(e.Title), Meaning: e.Consequence.Meaning(),
		Jobs: jobsMeaning(e.Jobs), Help: harmless(e.Help), Rule: e.Rule, Page: semdiff.Page(e.Rule), For: harmless(blast(&e.Blast)), Samples: samples(e),
		FilterCluster: harmless(strings.Join(e.Blast.Clusters, " ")), FilterTenants: v.numbers(e.Blast.Tenants), Lines: v.lines(e),
	}
	if more := e.Count - len(e.Samples); more > 0 {
		own.More = "and " + number(more) + " more"
	}
	v.names(&own, "tenants", e.Blast.Tenants)
	v.names(&own, "runtimes", e.Blast.Runtimes)
	if !slices.Equal(e.Blast.Namespaces, e.Blast.Tenants) {
		v.names(&own, "namespaces", e.Blast.Namespaces)
	}
	v.names(&own, "clusters", e.Blast.Clusters)
	own.Waived = v.waivers(waivers(e.Waived))
	return own
}

// names writes out what the line of an entry has no room for, as long as the page has some.
func (v *viewer) names(to *entryView, noun string, list []string) {
	shown := min(maxNames, len(list))
	if len(list) <= named || v.named+shown > maxAllNames {
		return
	}
	v.named += shown
	var text string
	for i, name := range list[:shown] {
		if i > 0 {
			text += ", "
		}
		text += harmless(name)
	}
	if more := len(list) - shown; more > 0 {
		text += " and " + number(more) + " more"
	}
	to.Names = append(to.Names, namesView{number(len(list)) + " " + noun, text})
}

// numbers are those of tenants, between spaces; `*` is any.
func (v *viewer) numbers(tenants []string) string {
	if v.filters += len(tenants); v.filters > maxFilters {
		return "*"
	}
	text := " "
	for _, name := range tenants {
		text += strconv.Itoa(v.tenants[name]) + " "
	}
	return text
}

// lines are those of the specs that are responsible.
func (v *viewer) lines(e *semdiff.Entry) []lineView {
	var all []lineView
	if !e.Before.IsZero() && (e.After.IsZero() || v.text(e.Before) != v.text(e.After) || e.Before.Path() != e.After.Path()) {
		all = append(all, v.line("−", "before", e.Before, v.links.Before))
	}
	if !e.After.IsZero() {
		mark, class := "+", "after"
		if len(all) == 0 && !e.Before.IsZero() {
			mark, class = " ", "same"
		}
		all = append(all, v.line(mark, class, e.After, v.links.After))
	}
	return all
}

func (v *viewer) line(mark, class string, at source.Span, address string) lineView {
	place := harmless(at.Path())
	if at.Line > 0 {
		place += ":" + strconv.Itoa(at.Line)
	}
	return lineView{Mark: mark, Class: class, Place: place, Link: lineLink(at, address), Text: v.text(at)}
}

// text is the line of a spec, "" where the span is about a whole file or nobody may show it.
func (v *viewer) text(at source.Span) string {
	if at.IsZero() || at.Line < 1 || v.hidden[lineSpot(at)] {
		return ""
	}
	line := at.File.Line(at.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	text := indent[:min(len(indent), 40)] + harmless(line)
	if utf8.RuneCountInString(text) > maxLine {
		text = string([]rune(text)[:maxLine-1]) + "…"
	}
	return text
}

// maxFindings is how many findings of each kind a page has.
const maxFindings = 200

func (v *viewer) findings(list []*diag.Diagnostic) []findingView {
	var all []findingView
	for i, found := range findingsOf(list) {
		if i == maxFindings {
			return append(all, findingView{Message: "There are more, for which there is no room; the format json has them all."})
		}
		own := findingView{Severity: found.severity, Code: found.code, Page: diag.Code(found.code).URL(), Message: harmless(found.message) + like(found.more)}
		if !found.at.IsZero() {
			line := v.line("", "same", found.at, v.links.After)
			own.Line = &line
		}
		all = append(all, own)
	}
	return all
}

func (v *viewer) waivers(list []waiver) []waiverView {
	var all []waiverView
	for i := range list[:min(maxFindings, len(list))] {
		w := &list[i]
		own := waiverView{Code: w.Code, Page: diag.Code(w.Code).URL(), Until: harmless(w.Until), Reason: harmless(w.Reason) + like(w.more), New: strings.Trim(fresh(w.New), " ()")}
		if !w.At.IsZero() {
			line := v.line("", "same", w.At, v.links.After)
			own.Line = &line
		}
		all = append(all, own)
	}
	return all
}

func (v *viewer) waiverChanges(list []semdiff.WaiverChange) []waiverChangeView {
	var all []waiverChangeView
	for i := range list[:min(maxFindings, len(list))] {
		w := &list[i]
		own := waiverChangeView{Code: w.Code, Page: diag.Code(w.Code).URL(), What: waiverText(w), Reason: harmless(w.Reason)}
		if !w.At.IsZero() {
			mark, class, link := "+", "after", v.links.After
			if w.How == semdiff.WaiverRemoved {
				mark, class, link = "−", "before", v.links.Before
			}
			line := v.line(mark, class, w.At, link)
			own.Line = &line
		}
		all = append(all, own)
	}
	return all
}
