package render

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The page is one file: its style and its script are in it, and its policy allows those two and nothing else, by their digests. Without
// the script everything is there but the filters.
var (
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string

	pagePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" + contentSecurityDigest(pageStyle) + "'; script-src '" + contentSecurityDigest(pageScript) + "'"
)

func contentSecurityDigest(text string) string {
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
// after, findings and waivers. Reachability is there if both states were proven.
func HTML(w io.Writer, r *semdiff.Report, compared ComparedStates, links Links) error {
	p := htmlPage{markup: markup{bufio.NewWriter(w)}, links: links, docs: r.Docs, hidden: hiddenLines(r), tenants: map[string]int{}}
	matrices, quiet := reachMatrices(r)
	gauges, gaugesLeft := changedGauges(r)
	reach, found := len(matrices)+len(quiet) > 0, len(r.Findings.New)+len(r.Findings.Fixed)+len(r.Findings.Waived)+len(r.Findings.Waivers)+len(r.Findings.Deciding) > 0
	p.writeHead(r, compared)
	p.raw("<nav aria-label=\"Parts of this page\"><ul>\n<li><a href=\"#changes\">Changes</a></li>\n")
	p.writePartLink(reach, "reach", "Who reaches whom")
	p.writePartLink(len(gauges) > 0, "quota", "Quota")
	p.writePartLink(found, "findings", "Findings and waivers")
	p.raw("</ul></nav>\n</header>\n<main>\n")
	p.writeChanges(r)
	if reach {
		p.writeReach(matrices, quiet)
	}
	if len(gauges) > 0 {
		p.writeQuota(gauges, gaugesLeft)
	}
	if found {
		p.writeFindings(&r.Findings)
	}
	p.put("</main>\n<footer><p>%s</p></footer>\n<script>", totalsLine(r))
	p.raw(pageScript)
	p.raw("</script>\n</body>\n</html>\n")
	return p.Flush()
}

// htmlPage is a page that is written.
type htmlPage struct {
	markup
	links Links
	// docs is the address of the pages about rules and codes, or empty.
	docs string
	// hidden are the lines that must not be shown.
	hidden map[findingPlace]bool
	// tenants have numbers, by which entries are filtered; filters is how many were written.
	tenants map[string]int
	filters int
	// named is how many names were written out, yaml how many lines of objects.
	named, yaml int
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
	return findingPlace{at: at.Path() + ":" + decimal(at.Line)}
}

func (p *htmlPage) writeHead(r *semdiff.Report, compared ComparedStates) {
	p.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>Review: %s</title>
<style>`, pagePolicy, headline(r))
	p.raw(pageStyle)
	p.put(`</style>
</head>
<body>
<a class="skip" href="#changes">To the changes</a>
<header>
<p class="compared">%s</p>
<h1>What this changes</h1>
`, escapeControl(compared.String()))
	p.writeVerdict(r)
	p.raw(`<ul class="counts">`)
	for _, s := range rule.Severities() {
		if n := r.Totals.BySeverity[s]; n > 0 {
			label := labels[s]
			if n == 1 {
				label = strings.TrimSuffix(label, "s")
			}
			p.put(`<li class="badge %s"><b>%s</b> %s</li>`, s.String(), groupThousands(n), label)
		}
	}
	if n := countAccepting(&r.Findings); n > 0 {
		p.put(`<li class="badge warning">%s</li>`, plural(n, "waiver"))
	}
	if n := len(r.Findings.Deciding); n > 0 {
		p.put(`<li class="badge warning"><b>%s</b> about reviews</li>`, groupThousands(n))
	}
	p.raw("</ul>\n")
}

// writeVerdict writes what matters: that check refuses it, and the parts of the verdict, the most severe first.
func (p *htmlPage) writeVerdict(r *semdiff.Report) {
	if n := r.Findings.Errors; n > 0 {
		p.put(`<p class="refused" role="alert"><b>check refuses this</b> with <a href="#findings">%s</a></p>`+"\n", plural(n, "error"))
	}
	if len(r.Clauses) == 0 {
		p.put(`<p class="verdict">%s</p>`+"\n", escapeControl(r.Verdict))
		return
	}
	p.raw(`<ul class="verdict">` + "\n")
	for _, c := range r.Clauses {
		p.put(`<li class="%s"><span class="says">%s: </span>%s</li>`+"\n", c.Severity.String(), c.Severity.String(), escapeControl(c.Text))
	}
	p.raw("</ul>\n")
}

// writePartLink writes a link to a part of the page, if it is there.
func (p *htmlPage) writePartLink(there bool, id, called string) {
	if there {
		p.put("<li><a href=\"#%s\">%s</a></li>\n", id, called)
	}
}

// labels are severities, many of them.
var labels = map[rule.Severity]string{rule.Critical: "critical", rule.Warning: "warnings", rule.Notice: "notices", rule.Info: "for information"}

// writePlace writes where a line of a spec is.
func (p *htmlPage) writePlace(at source.Span, address string) {
	place := escapeControl(at.Path())
	if at.Line > 0 {
		place += ":" + decimal(at.Line)
	}
	p.putLink(lineLink(at, address), place)
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

// writeLineBelow writes a line of a spec under what is about it, if there is one.
func (p *htmlPage) writeLineBelow(at source.Span, address string) {
	if !at.IsZero() {
		p.raw("<br>")
		p.writePlace(at, address)
		p.put(" <code>%s</code>", strings.TrimLeft(p.lineText(at), " "))
	}
}
