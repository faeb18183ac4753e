package render

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The page is one file: its style and its script are in it, and its policy allows those two and nothing else, by their
// digests. Without the script everything is there but the filters.
var (
	//go:embed page/page.html
	pageText string
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string

	pagePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" +
		contentSecurityDigest(pageStyle) + "'; script-src '" + contentSecurityDigest(pageScript) + "'"
)

func contentSecurityDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pageTemplate escapes what it shows for its place in the page. Texts of specs also go through the function text, which
// bounds them and replaces control characters. Most runs write no page and need not parse it.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"text": escapeControl, "count": groupThousands, "plural": plural, "named": countedNames,
		"join": strings.Join, "split": strings.Split, "number": func(index int) int { return index + 1 },
		"words":      func(c rule.Consequence) string { return strings.ReplaceAll(string(c), "-", " ") },
		"severities": rule.Severities, "consequences": rule.Consequences, "label": severityLabel,
		"isOpen":   func(e *group.Entry) bool { return e.Severity >= rule.Warning },
		"affected": affectedText, "jobs": jobsMeaning, "whose": whoseJobs, "samples": countedSamples,
		"findings": findingsOf, "alike": moreLikeIt, "waiver": waiverText, "deciding": decidingText,
		"mostFindings": func() int { return maxFindings },
		"waivers": func(list []group.Waived) []joinedWaiver {
			all := joinWaivers(list)
			return all[:min(maxFindings, len(all))]
		},
	}).Parse(pageText))
})

// What bounds the size of a page, which stays below 4 MB; the rest is counted, and in the format json.
const (
	// maxEntries is how many entries a page has.
	maxEntries = 1000
	// maxFindings is how many findings of each kind a page has.
	maxFindings = 200
	// maxNames is how many names of one entry are written out, maxAllNames of all entries.
	maxNames, maxAllNames = 200, 50_000
	// maxFilters is how many numbers of tenants all entries have, by which they are filtered. An entry beyond is there for every tenant.
	maxFilters = 100_000
	// maxLine is how many characters of a line of a spec are shown.
	maxLine = 240
)

// HTML writes a report as a page for reviewers: the verdict, changes with filters, who reaches whom before and after, quota before and
// after, findings and waivers. Reachability is there if both states were proven.
func HTML(w io.Writer, r *semdiff.Report, compared ComparedStates, links Links) error {
	p := &htmlPage{
		Report: r, Compared: compared, Links: links, Policy: pagePolicy,
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), //nolint:gosec // both are files of this package
		hidden: hiddenLines(r), yaml: maxAllCompiled,
	}
	p.Matrices, p.Quiet = reachMatrices(r)
	p.Gauges, p.GaugesLeft = changedGauges(r)
	p.collectFilters()
	out := bufio.NewWriter(w)
	if err := pageTemplate().Execute(out, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return out.Flush()
}

// htmlPage is the page as its template takes it. Some methods use up room that all entries share, so the template calls
// them once per entry.
type htmlPage struct {
	*semdiff.Report
	Compared ComparedStates
	Links    Links
	Policy   string
	Style    template.CSS
	Script   template.JS
	Matrices []reachMatrix
	// Quiet lists the clusters on which reachability stays the same.
	Quiet      []string
	Gauges     []quotaGauge
	GaugesLeft int
	// Consequences, Clusters and Tenants filter entries. Tenants maps names to numbers, in the order of names.
	Consequences map[rule.Consequence]int
	Clusters     map[string]bool
	Tenants      map[string]int

	// hidden are the lines that must not be shown.
	hidden map[findingPlace]bool
	// filters and named are how many numbers and names of tenants were written.
	filters, named int
	yaml           yamlRoom
}

func hiddenLines(r *semdiff.Report) map[findingPlace]bool {
	lines := map[findingPlace]bool{}
	for _, list := range [][]*diag.Diagnostic{r.Findings.New, r.Findings.Fixed} {
		for _, d := range list {
			if d.Secret {
				lines[findingPlaceOf(d.Span)] = true
			}
		}
	}
	return lines
}

func findingPlaceOf(at source.Span) findingPlace {
	return findingPlace{at: fmt.Sprint(at.Path(), ":", at.Line)}
}

func (p *htmlPage) collectFilters() {
	p.Consequences, p.Clusters, p.Tenants = map[rule.Consequence]int{}, map[string]bool{}, map[string]int{}
	for i := range p.Entries {
		e := &p.Entries[i]
		p.Consequences[e.Consequence]++
		for _, name := range e.Affected.Tenants {
			p.Tenants[name] = 0
		}
		for _, name := range e.Affected.Clusters {
			p.Clusters[name] = true
		}
	}
	for i, name := range slices.Sorted(maps.Keys(p.Tenants)) {
		p.Tenants[name] = i
	}
}

// Headline returns the title of the page.
func (p *htmlPage) Headline() string { return headline(p.Report) }

// TotalsLine returns the last line of the page.
func (p *htmlPage) TotalsLine() string { return totalsLine(p.Report) }

// Accepting returns the number of waivers that accept more than before.
func (p *htmlPage) Accepting() int { return countAccepting(&p.Findings) }

// HasReach reports whether reachability was proven.
func (p *htmlPage) HasReach() bool { return len(p.Matrices)+len(p.Quiet) > 0 }

// HasFindings reports whether there are findings, waivers or files that decide about reviews.
func (p *htmlPage) HasFindings() bool {
	f := &p.Findings
	return len(f.New)+len(f.Fixed)+len(f.Waived)+len(f.Waivers)+len(f.Deciding) > 0
}

// Shown returns the entries that have room.
func (p *htmlPage) Shown() []group.Entry { return p.Entries[:min(maxEntries, len(p.Entries))] }

// Left returns the number of entries without room.
func (p *htmlPage) Left() int { return max(0, len(p.Entries)-maxEntries) }

// labels are severities, many of them.
var labels = map[rule.Severity]string{rule.Critical: "critical", rule.Warning: "warnings", rule.Notice: "notices", rule.Info: "for information"}

func severityLabel(s rule.Severity, n int) string {
	if n == 1 {
		return strings.TrimSuffix(labels[s], "s")
	}
	return labels[s]
}

// pageLink is a text that leads to an address, if there is one.
type pageLink struct{ To, Text string }

// CodeLink leads to the page about the code of a finding.
func (p *htmlPage) CodeLink(code string) pageLink { return pageLink{diag.Code(code).URL(p.Docs), code} }

// RuleLink leads to the page about the rule of an entry.
func (p *htmlPage) RuleLink(e *group.Entry) pageLink {
	return pageLink{rule.PageURL(p.Docs, e.Rule), string(e.Consequence) + ", by the rule “" + e.Rule + "”"}
}

// specLine is a line of a spec. Mark is + for the line afterwards and − for the line before.
type specLine struct {
	Class, Mark string
	Place       pageLink
	Text        string
}

func (p *htmlPage) specLine(class, mark string, at source.Span, address string) specLine {
	place := escapeControl(at.Path())
	if at.Line > 0 {
		place += fmt.Sprint(":", at.Line)
	}
	return specLine{class, mark, pageLink{lineLink(at, address), place}, p.lineText(at)}
}

// SpecLines returns the lines of the specs that are responsible for an entry.
func (p *htmlPage) SpecLines(e *group.Entry) []specLine {
	var lines []specLine
	hasBefore, hasAfter := !e.Before.IsZero(), !e.After.IsZero()
	if hasBefore && hasAfter && p.lineText(e.Before) == p.lineText(e.After) && e.Before.Path() == e.After.Path() {
		return append(lines, p.specLine("same", "", e.After, p.Links.After))
	}
	if hasBefore {
		lines = append(lines, p.specLine("before", "−", e.Before, p.Links.Before))
	}
	if hasAfter {
		lines = append(lines, p.specLine("after", "+", e.After, p.Links.After))
	}
	return lines
}

// lineText is the line of a spec, "" where the span is about a whole file or must not be shown.
func (p *htmlPage) lineText(at source.Span) string {
	if at.IsZero() || at.Line < 1 || p.hidden[findingPlaceOf(at)] {
		return ""
	}
	line := at.File.Line(at.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	text := indent[:min(len(indent), 40)] + escapeControl(line)
	if utf8.RuneCountInString(text) > maxLine {
		text = string([]rune(text)[:maxLine-1]) + "…"
	}
	return text
}

// Before returns a line of the state before, nil if there is none.
func (p *htmlPage) Before(at source.Span) *specLine { return p.lineBelow(at, p.Links.Before) }

// After returns a line of the state afterwards, nil if there is none.
func (p *htmlPage) After(at source.Span) *specLine { return p.lineBelow(at, p.Links.After) }

func (p *htmlPage) lineBelow(at source.Span, address string) *specLine {
	if at.IsZero() {
		return nil
	}
	line := p.specLine("", "", at, address)
	line.Text = strings.TrimLeft(line.Text, " ")
	return &line
}

// foldedLine is a line of YAML, in the field of the states that have it.
type foldedLine struct{ Added, Removed, Kept string }

// CompiledYAML returns how the objects of an entry differ.
func (p *htmlPage) CompiledYAML(e *group.Entry) []foldedLine {
	var lines []foldedLine
	for _, line := range p.yaml.compiledYAML(e, maxCompiled) {
		switch line.mark {
		case '+':
			lines = append(lines, foldedLine{Added: line.text})
		case '-':
			lines = append(lines, foldedLine{Removed: line.text})
		default:
			lines = append(lines, foldedLine{Kept: line.text})
		}
	}
	return lines
}

// countedSamples returns the effects that an entry keeps, and how many others there are.
func countedSamples(e *group.Entry) []string {
	lines := sampleLines(e)
	if more := e.Count - len(e.Samples); more > 0 && len(lines) > 0 {
		lines = append(lines, "and "+groupThousands(more)+" more")
	}
	return lines
}

// foldedNames are the names that the line of an entry has no room for.
type foldedNames struct{ Summary, Text string }

// Names writes out the names of an entry, as long as the page has room.
func (p *htmlPage) Names(affected group.AffectedNames) []foldedNames {
	var folds []foldedNames
	for _, part := range []struct {
		noun  string
		names []string
	}{
		{"tenants", affected.Tenants}, {"runtimes", affected.Runtimes},
		{"namespaces", affected.Namespaces}, {"clusters", affected.Clusters},
	} {
		shown := min(maxNames, len(part.names))
		isRepeated := part.noun == "namespaces" && slices.Equal(part.names, affected.Tenants)
		if len(part.names) <= named || p.named+shown > maxAllNames || isRepeated {
			continue
		}
		p.named += shown
		names := make([]string, shown)
		for i, name := range part.names[:shown] {
			names[i] = escapeControl(name)
		}
		text := strings.Join(names, ", ")
		if more := len(part.names) - shown; more > 0 {
			text += " and " + groupThousands(more) + " more"
		}
		folds = append(folds, foldedNames{groupThousands(len(part.names)) + " " + part.noun, text})
	}
	return folds
}

// TenantNumbers are the numbers of tenants, between spaces; `*` is any.
func (p *htmlPage) TenantNumbers(tenants []string) string {
	if p.filters += len(tenants); p.filters > maxFilters {
		return "*"
	}
	var b strings.Builder
	for _, name := range tenants {
		fmt.Fprintf(&b, " %d", p.Tenants[name])
	}
	return b.String() + " "
}
