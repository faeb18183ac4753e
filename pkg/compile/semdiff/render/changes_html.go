package render

import (
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// writeChanges writes the entries, with what filters them.
func (p *htmlPage) writeChanges(r *semdiff.Report) {
	p.raw("<section aria-labelledby=\"changes\">\n<h2 id=\"changes\">Changes</h2>\n")
	shown := r.Entries[:min(maxEntries, len(r.Entries))]
	if len(shown) == 0 {
		p.put("<p>%s changes.</p>\n", map[bool]string{true: "Nothing", false: "No object"}[r.Findings.NothingToAccept()])
	} else {
		p.writeFilter(r)
		p.raw("<ol class=\"entries\">\n")
		for i := range shown {
			p.writeEntry(i+1, &shown[i])
		}
		p.raw("</ol>\n<p id=\"nothing\" hidden>No change is like that.</p>\n")
	}
	if left := len(r.Entries) - len(shown); left > 0 {
		p.put(`<p class="left">%s`, plural(left, "change")+" of less weight have no room on this page; the format json has them all.")
		if p.links.Full != "" {
			p.put(` <a href="%s">The whole report</a>`, safeAddress(p.links.Full))
		}
		p.raw("</p>\n")
	}
	p.raw("</section>\n")
}

// writeFilter writes by what changes can be filtered.
func (p *htmlPage) writeFilter(r *semdiff.Report) {
	consequences, tenants, clusters := map[rule.Consequence]int{}, map[string]bool{}, map[string]bool{}
	for i := range r.Entries {
		e := &r.Entries[i]
		consequences[e.Consequence]++
		for _, name := range e.Affected.Tenants {
			tenants[name] = true
		}
		for _, name := range e.Affected.Clusters {
			clusters[name] = true
		}
	}
	p.raw("<form id=\"filters\" hidden>\n<fieldset><legend>Severity</legend>")
	for _, s := range rule.Severities() {
		if r.Totals.BySeverity[s] > 0 {
			p.put("\n<label><input type=\"checkbox\" name=\"severity\" value=\"%s\" checked> %s</label>", s.String(), labels[s])
		}
	}
	p.raw("\n</fieldset>\n<label>Consequence <select name=\"consequence\"><option value=\"\">all</option>")
	for _, c := range rule.Consequences() {
		if n := consequences[c]; n > 0 {
			p.put(`<option value="%s">%s (%s)</option>`, string(c), strings.ReplaceAll(string(c), "-", " "), groupThousands(n))
		}
	}
	p.raw("</select></label>\n")
	if len(clusters) > 0 {
		p.raw(`<label>Cluster <select name="cluster"><option value="">all</option>`)
		for _, name := range slices.Sorted(maps.Keys(clusters)) {
			p.put("<option>%s</option>", escapeControl(name))
		}
		p.raw("</select></label>\n")
	}
	if len(tenants) > 0 {
		p.raw("<label>Tenant <input name=\"tenant\" list=\"tenants\" autocomplete=\"off\" spellcheck=\"false\" placeholder=\"all\"></label>\n<datalist id=\"tenants\">")
		for i, name := range slices.Sorted(maps.Keys(tenants)) {
			p.tenants[name] = i
			p.put(`<option value="%s"></option>`, escapeControl(name))
		}
		p.raw("</datalist>\n")
	}
	p.raw("<button type=\"reset\">Show all</button>\n<button type=\"button\" id=\"unfold\">Unfold all</button>\n<p id=\"shown\" role=\"status\"></p>\n</form>\n")
}

func (p *htmlPage) writeEntry(n int, e *group.Entry) {
	severity, consequence := e.Severity.String(), string(e.Consequence)
	p.put(`<li class="entry %s" data-severity="%s" data-consequence="%s" data-clusters="%s" data-tenants="%s">`+"\n",
		severity, severity, consequence, escapeControl(strings.Join(e.Affected.Clusters, " ")), p.tenantNumbers(e.Affected.Tenants))
	p.put(`<details id="change-%s"`, decimal(n))
	if e.Severity >= rule.Warning {
		p.raw(" open")
	}
	p.put(">\n"+`<summary><span class="badge %s">%s</span> <span class="what">%s</span>`, severity, severity, escapeControl(e.Title))
	p.putIfSet(` <span class="for">%s</span>`, escapeControl(affectedText(&e.Affected)))
	p.put("</summary>\n<div class=\"body\">\n<p>%s", e.Consequence.Meaning())
	if jobs := jobsMeaning(e.Jobs); jobs != "" {
		p.put(" Running jobs%s %s.", whoseJobs(e), jobs)
	}
	p.raw("</p>\n")
	p.writeSpecLines(e)
	p.writeSamples(e)
	p.writeCompiledYAML(e)
	accepted := joinWaivers(e.Waived)
	for i := range accepted[:min(maxFindings, len(accepted))] {
		w := &accepted[i]
		p.put(`<p class="waived"><b>Accepted</b> until %s`, escapeControl(w.Until))
		p.putIfSet(" (%s)", newMarkWord(w.New))
		p.writeReason(": %s (", escapeControl(w.Reason)+moreLikeIt(w.more), w.Code)
		p.raw(")</p>\n")
	}
	p.putIfSet("<p class=\"help\"><b>What to do:</b> %s</p>\n", escapeControl(e.Help))
	p.writeNames("tenants", e.Affected.Tenants)
	p.writeNames("runtimes", e.Affected.Runtimes)
	if !slices.Equal(e.Affected.Namespaces, e.Affected.Tenants) {
		p.writeNames("namespaces", e.Affected.Namespaces)
	}
	p.writeNames("clusters", e.Affected.Clusters)
	p.raw("<p class=\"rule\">")
	p.putPageLink(rule.PageURL(p.docs, e.Rule), consequence+", by the rule “"+e.Rule+"”")
	p.raw("</p>\n</div>\n</details>\n</li>\n")
}

// writeSpecLines writes the lines of the specs that are responsible.
func (p *htmlPage) writeSpecLines(e *group.Entry) {
	if e.Before.IsZero() && e.After.IsZero() {
		return
	}
	p.raw(`<table class="lines"><caption>Lines of the specs</caption><tbody>`)
	differ := e.After.IsZero() || p.lineText(e.Before) != p.lineText(e.After) || e.Before.Path() != e.After.Path()
	if !e.Before.IsZero() && differ {
		p.writeSpecLine("−", "before", e.Before, p.links.Before)
	}
	switch {
	case e.After.IsZero():
	case !e.Before.IsZero() && !differ:
		p.writeSpecLine(" ", "same", e.After, p.links.After)
	default:
		p.writeSpecLine("+", "after", e.After, p.links.After)
	}
	p.raw("</tbody></table>\n")
}

// writeSpecLine writes a row: mark is + for the line afterwards and − for that before.
func (p *htmlPage) writeSpecLine(mark, class string, at source.Span, address string) {
	p.put(`<tr class="%s"><th scope="row">`, class)
	p.writePlace(at, address)
	p.raw(`</th><td class="mark">`)
	if class != "same" {
		p.put(`<span class="says">%s</span>`, class)
	}
	p.put(`%s</td><td><code>%s</code></td></tr>`, mark, p.lineText(at))
}

func (p *htmlPage) writeSamples(e *group.Entry) {
	lines := sampleLines(e)
	if len(lines) == 0 {
		return
	}
	p.raw(`<ul class="samples">`)
	p.putEach("<li>%s</li>", lines)
	if more := e.Count - len(e.Samples); more > 0 {
		p.put("<li>%s</li>", "and "+groupThousands(more)+" more")
	}
	p.raw("</ul>\n")
}

// writeNames writes out what the line of an entry has no room for, as long as the page has some.
func (p *htmlPage) writeNames(noun string, list []string) {
	shown := min(maxNames, len(list))
	if len(list) <= named || p.named+shown > maxAllNames {
		return
	}
	p.named += shown
	names := make([]string, shown)
	for i, name := range list[:shown] {
		names[i] = escapeControl(name)
	}
	text := strings.Join(names, ", ")
	if more := len(list) - shown; more > 0 {
		text += " and " + groupThousands(more) + " more"
	}
	p.put("<details class=\"names\"><summary>%s</summary><p>%s</p></details>\n", groupThousands(len(list))+" "+noun, text)
}

// tenantNumbers are those of tenants, between spaces; `*` is any.
func (p *htmlPage) tenantNumbers(tenants []string) string {
	if p.filters += len(tenants); p.filters > maxFilters {
		return "*"
	}
	text := " "
	for _, name := range tenants {
		text += decimal(p.tenants[name]) + " "
	}
	return text
}
