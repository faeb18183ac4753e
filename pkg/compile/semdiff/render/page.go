package render

// write writes the page.
func (p *pageView) write(m markup) {
	p.head(m)
	m.raw("<main>\n")
	p.changes(m)
	if len(p.Matrices) > 0 || p.Quiet != "" {
		p.reach(m)
	}
	if len(p.Gauges) > 0 {
		p.quota(m)
	}
	if p.hasFindings() {
		p.found(m)
	}
	m.put("</main>\n<footer><p>%s</p></footer>\n<script>", p.Totals)
	m.raw(pageScript)
	m.raw("</script>\n</body>\n</html>\n")
}

func (p *pageView) hasFindings() bool {
	return len(p.Findings)+len(p.Fixed)+len(p.Waivers)+len(p.WaiverChanges) > 0
}

func (p *pageView) head(m markup) {
	m.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>Review: %s</title>
<style>`, pagePolicy, p.Title)
	m.raw(pageStyle)
	m.put(`</style>
</head>
<body>
<a class="skip" href="#changes">To the changes</a>
<header>
<p class="compared">%s</p>
<h1>What this changes</h1>
<p class="verdict">%s</p>
<ul class="counts">`, p.Compared, p.Verdict)
	for _, s := range p.Severities {
		if s.N > 0 {
			m.put(`<li class="badge %s"><b>%s</b> %s</li>`, s.Name, s.Count, s.Label)
		}
	}
	m.raw("</ul>\n<nav aria-label=\"Parts of this page\"><ul>\n<li><a href=\"#changes\">Changes</a></li>\n")
	for _, part := range []struct {
		there      bool
		id, called string
	}{
		{len(p.Matrices) > 0 || p.Quiet != "", "reach", "Who reaches whom"}, {len(p.Gauges) > 0, "quota", "Quota"},
		{p.hasFindings(), "findings", "Findings and waivers"},
	} {
		if part.there {
			m.put("<li><a href=\"#%s\">%s</a></li>\n", part.id, part.called)
		}
	}
	m.raw("</ul></nav>\n</header>\n")
}

func (p *pageView) changes(m markup) {
	m.raw("<section aria-labelledby=\"changes\">\n<h2 id=\"changes\">Changes</h2>\n")
	if len(p.Entries) == 0 {
		m.raw("<p>Nothing changes.</p>\n")
	} else {
		p.filters(m)
		m.raw("<ol class=\"entries\">\n")
		for i := range p.Entries {
			p.Entries[i].write(m)
		}
		m.raw("</ol>\n<p id=\"nothing\" hidden>No change is like that.</p>\n")
	}
	if p.Left != "" {
		m.put(`<p class="left">%s`, p.Left)
		if p.Full != "" {
			m.put(` <a href="%s">The whole report</a>`, address(p.Full))
		}
		m.raw("</p>\n")
	}
	m.raw("</section>\n")
}

func (p *pageView) filters(m markup) {
	m.raw("<form id=\"filters\" hidden>\n<fieldset><legend>Severity</legend>")
	for _, s := range p.Severities {
		if s.N > 0 {
			m.put("\n<label><input type=\"checkbox\" name=\"severity\" value=\"%s\" checked> %s</label>", s.Name, s.Label)
		}
	}
	m.raw("\n</fieldset>\n<label>Consequence <select name=\"consequence\"><option value=\"\">all</option>")
	for _, c := range p.Consequences {
		m.put(`<option value="%s">%s (%s)</option>`, c.Name, c.Label, c.Count)
	}
	m.raw("</select></label>\n")
	if len(p.Clusters) > 0 {
		m.raw(`<label>Cluster <select name="cluster"><option value="">all</option>`)
		m.list("<option>%s</option>", p.Clusters)
		m.raw("</select></label>\n")
	}
	if len(p.Tenants) > 0 {
		m.raw("<label>Tenant <input name=\"tenant\" list=\"tenants\" autocomplete=\"off\" spellcheck=\"false\" placeholder=\"all\"></label>\n<datalist id=\"tenants\">")
		m.list(`<option value="%s"></option>`, p.Tenants)
		m.raw("</datalist>\n")
	}
	m.raw("<button type=\"reset\">Show all</button>\n<button type=\"button\" id=\"unfold\">Unfold all</button>\n<p id=\"shown\" role=\"status\"></p>\n</form>\n")
}

func (e *entryView) write(m markup) {
	m.put(`<li class="entry %s" data-severity="%s" data-consequence="%s" data-clusters="%s" data-tenants="%s">`+"\n",
		e.Severity, e.Severity, e.Consequence, e.FilterCluster, e.FilterTenants)
	m.put(`<details id="change-%s"`, decimal(e.Number))
	if e.Severity == "critical" || e.Severity == "warning" {
		m.raw(" open")
	}
	m.put(">\n"+`<summary><span class="badge %s">%s</span> <span class="what">%s</span>`, e.Severity, e.Severity, e.Title)
	m.when(` <span class="for">%s</span>`, e.For)
	m.put("</summary>\n<div class=\"body\">\n<p>%s", e.Meaning)
	m.when(" Running jobs %s.", e.Jobs)
	m.raw("</p>\n")
	e.lines(m)
	e.samples(m)
	for i := range e.Waived {
		w := &e.Waived[i]
		m.put(`<p class="waived"><b>Accepted</b> until %s`, w.Until)
		m.when(" (%s)", w.New)
		m.put(`: %s (<a href="%s">%s</a>)</p>`+"\n", w.Reason, address(w.Page), w.Code)
	}
	m.when("<p class=\"help\"><b>What to do:</b> %s</p>\n", e.Help)
	for _, names := range e.Names {
		m.put("<details class=\"names\"><summary>%s</summary><p>%s</p></details>\n", names.Noun, names.Names)
	}
	m.put("<p class=\"rule\"><a href=\"%s\">%s, and how the rule “%s” knows</a></p>\n</div>\n</details>\n</li>\n", address(e.Page), e.Consequence, e.Rule)
}

func (e *entryView) lines(m markup) {
	if len(e.Lines) == 0 {
		return
	}
	m.raw(`<table class="lines"><caption>Lines of the specs</caption><tbody>`)
	for i := range e.Lines {
		line := &e.Lines[i]
		m.put(`<tr class="%s"><th scope="row">`, line.Class)
		line.place(m)
		m.raw(`</th><td class="mark">`)
		if line.Class == "before" || line.Class == "after" {
			m.put(`<span class="says">%s</span>`, line.Class)
		}
		m.put(`%s</td><td><code>%s</code></td></tr>`, line.Mark, line.Text)
	}
	m.raw("</tbody></table>\n")
}

func (l *lineView) place(m markup) {
	if l.Link == "" {
		m.put("%s", l.Place)
		return
	}
	m.put(`<a href="%s">%s</a>`, address(l.Link), l.Place)
}

func (e *entryView) samples(m markup) {
	if len(e.Samples) == 0 {
		return
	}
	m.raw(`<ul class="samples">`)
	m.list("<li>%s</li>", e.Samples)
	m.when("<li>%s</li>", e.More)
	m.raw("</ul>\n")
}

func (p *pageView) reach(m markup) {
	m.raw("<section aria-labelledby=\"reach\">\n<h2 id=\"reach\">Who reaches whom</h2>\n")
	if len(p.Matrices) > 0 {
		m.raw(`<p class="legend"><span class="cell opened">+</span> opened <span class="cell closed">−</span> closed <span class="cell altered">±</span> other ports or addresses <span class="cell open">●</span> open, as before <span class="cell half">◐</span> allowed by one side only: no traffic</p>` + "\n")
	}
	for i := range p.Matrices {
		p.Matrices[i].write(m)
	}
	m.when("<p>%s</p>\n", p.Quiet)
	m.raw("</section>\n")
}

func (x *matrix) write(m markup) {
	m.put("<section class=\"cluster\">\n<h3>Cluster %s</h3>\n", x.Cluster)
	if len(x.Counts) > 0 {
		m.raw(`<table class="sums"><caption>How many</caption><thead><tr><th scope="col">ways</th><th scope="col">before</th><th scope="col">after</th></tr></thead><tbody>`)
		for _, count := range x.Counts {
			m.raw("<tr")
			if count.Differs {
				m.raw(` class="differs"`)
			}
			m.put(`><th scope="row">%s</th><td>%s</td><td>%s</td></tr>`, count.What, count.Before, count.After)
		}
		m.raw("</tbody></table>\n")
	}
	m.raw("<div class=\"differences\">\n")
	for _, part := range []struct {
		heading string
		ways    []string
	}{{"Opened", x.Opened}, {"Closed", x.Closed}, {"Other ports or addresses", x.Altered}} {
		if len(part.ways) > 0 {
			m.put(`<h4>%s</h4><ul class="ways">`, part.heading)
			m.list("<li>%s</li>", part.ways)
			m.raw("</ul>\n")
		}
	}
	m.when("<p>%s</p>\n", x.More)
	m.raw("</div>\n")
	x.table(m)
	m.when("<p>%s</p>\n", x.Hidden)
	m.raw("</section>\n")
}

func (x *matrix) table(m markup) {
	m.put("<div class=\"scroll\" role=\"region\" aria-label=\"Matrix of cluster %s\" tabindex=\"0\">\n", x.Cluster)
	m.raw("<table class=\"matrix\"><caption>From the row to the column</caption>\n<thead><tr><td></td>")
	m.list(`<th scope="col"><span>%s</span></th>`, x.Columns)
	m.raw("</tr></thead>\n<tbody>")
	for _, row := range x.Rows {
		m.put(`<tr><th scope="row">%s</th>`, row.Name)
		for _, c := range row.Cells {
			if c.Mark == "" {
				m.put(`<td class="cell %s"></td>`, c.Class)
				continue
			}
			m.put(`<td class="cell %s" title="%s"><span aria-hidden="true">%s</span><span class="says">%s</span></td>`, c.Class, c.Says, c.Mark, c.Class)
		}
		m.raw("</tr>")
	}
	m.raw("</tbody>\n</table>\n</div>\n")
}

func (p *pageView) quota(m markup) {
	m.raw("<section aria-labelledby=\"quota\">\n<h2 id=\"quota\">Quota</h2>\n")
	m.raw(`<p class="legend"><svg class="swatch" viewBox="0 0 24 10" aria-hidden="true"><rect class="was" width="24" height="10"/></svg> before <svg class="swatch" viewBox="0 0 24 10" aria-hidden="true"><rect class="is" width="24" height="10"/></svg> after <svg class="swatch" viewBox="0 0 24 10" aria-hidden="true"><rect class="is borrows" width="24" height="10"/></svg> may be borrowed on top. Tenants that were compared; those that cannot differ are left out.</p>` + "\n<div class=\"gauges\">\n")
	for i := range p.Gauges {
		g := &p.Gauges[i]
		m.put("<section class=\"gauge\"><h3>%s <span class=\"for\">cluster %s</span></h3>\n<ul>", g.What, g.Cluster)
		for j := range g.Bars {
			g.Bars[j].write(m)
		}
		m.when("\n<li>%s</li>", g.More)
		m.raw("</ul></section>\n")
	}
	m.raw("</div>\n")
	m.when("<p>%s</p>\n", p.MoreGauges)
	m.raw("</section>\n")
}

func (b *bar) write(m markup) {
	m.raw("\n<li")
	if b.Differs {
		m.raw(` class="differs"`)
	}
	m.put(`><span class="holder">%s</span> <span class="numbers">%s</span>`, b.Holder, b.Says)
	m.raw("\n" + `<svg viewBox="0 0 400 20" preserveAspectRatio="none" aria-hidden="true"><rect class="room" width="400" height="20"/>`)
	for _, half := range []struct {
		class, y string
		amount   amount
	}{{"was", "1", b.Before}, {"is", "11", b.After}} {
		guaranteed := decimal(half.amount.Guaranteed)
		m.put("\n"+`<rect class="%s" y="%s" width="%s" height="8"/><rect class="%s borrows" x="%s" y="%s" width="%s" height="8"/>`,
			half.class, half.y, guaranteed, half.class, guaranteed, half.y, decimal(half.amount.Borrows))
	}
	m.raw("</svg></li>")
}

func (p *pageView) found(m markup) {
	m.raw("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings and waivers</h2>\n")
	if len(p.Findings) > 0 {
		m.raw("<h3>New findings of the compiler</h3>\n<ul class=\"findings\">")
		for i := range p.Findings {
			p.Findings[i].write(m, true)
		}
		m.raw("</ul>\n")
	}
	if len(p.Waivers) > 0 {
		m.raw("<h3>Accepted by waivers</h3>\n<ul class=\"findings\">")
		for i := range p.Waivers {
			w := &p.Waivers[i]
			m.put("<li>until %s", w.Until)
			m.when(` <span class="badge notice">%s</span>`, w.New)
			m.put(`: %s (<a href="%s">%s</a>)`, w.Reason, address(w.Page), w.Code)
			w.Line.below(m)
			m.raw("</li>")
		}
		m.raw("</ul>\n")
	}
	if len(p.WaiverChanges) > 0 {
		m.raw("<h3>Waivers that change</h3>\n<ul class=\"findings\">")
		for i := range p.WaiverChanges {
			w := &p.WaiverChanges[i]
			m.put(`<li>%s: %s (<a href="%s">%s</a>)`, w.What, w.Reason, address(w.Page), w.Code)
			w.Line.below(m)
			m.raw("</li>")
		}
		m.raw("</ul>\n")
	}
	if len(p.Fixed) > 0 {
		m.raw("<h3>Findings that are gone</h3>\n<ul class=\"findings\">")
		for i := range p.Fixed {
			p.Fixed[i].write(m, false)
		}
		m.raw("</ul>\n")
	}
	m.raw("</section>\n")
}

// write writes a finding; one that is new has its severity and its line.
func (f *findingView) write(m markup, isNew bool) {
	m.raw("<li>")
	if f.Code != "" && isNew {
		m.put(`<span class="badge %s">%s</span> `, f.Severity, f.Severity)
	}
	m.put("%s", f.Message)
	if f.Code != "" {
		m.put(` (<a href="%s">%s</a>)`, address(f.Page), f.Code)
	}
	if isNew {
		f.Line.below(m)
	}
	m.raw("</li>")
}

// below writes a line of a spec under what is about it; nil is none.
func (l *lineView) below(m markup) {
	if l == nil {
		return
	}
	m.raw("<br>")
	l.place(m)
	m.put(" <code>%s</code>", l.Text)
}
