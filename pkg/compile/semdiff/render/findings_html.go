package render

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
)

// maxFindings is how many findings of each kind a page has.
const maxFindings = 200

// findings writes what the compiler says, and what specs accept.
func (p *page) findings(f *group.Findings) {
	p.raw("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings and waivers</h2>\n")
	p.findingList("New findings of the compiler", findingsOf(f.New), true)
	accepted := waivers(f.Waived)
	p.items("Accepted by waivers", min(maxFindings, len(accepted)), func(i int) {
		w := &accepted[i]
		p.put("until %s", escapeControl(w.Until))
		p.when(` <span class="badge notice">%s</span>`, newWord(w.New))
		p.reason(": %s (", escapeControl(w.Reason)+moreLikeIt(w.more), w.Code)
		p.raw(")")
		p.below(w.At, p.links.After)
	})
	p.items("Waivers that change", min(maxFindings, len(f.Waivers)), func(i int) {
		w := &f.Waivers[i]
		p.put("%s", waiverText(w))
		p.reason(": %s (", escapeControl(w.Reason), w.Code)
		p.raw(")")
		if w.How == group.WaiverRemoved {
			p.below(w.At, p.links.Before)
		} else {
			p.below(w.At, p.links.After)
		}
	})
	p.items("Files that decide about reviews", min(maxFindings, len(f.Deciding)), func(i int) { p.put("%s", decidingText(f.Deciding[i])) })
	p.findingList("Findings that are gone", findingsOf(f.Fixed), false)
	p.raw("</section>\n")
}

// findingList writes findings; those that are new have their severity and their line.
func (p *page) findingList(heading string, all []finding, isNew bool) {
	p.items(heading, min(maxFindings+1, len(all)), func(i int) {
		if i == maxFindings {
			p.raw("There are more, for which there is no room; the format json has them all.")
			return
		}
		f := &all[i]
		if isNew {
			p.put(`<span class="badge %s">%s</span> `, f.severity, f.severity)
		}
		p.reason("%s (", escapeControl(f.message)+moreLikeIt(f.more), f.code)
		p.raw(")")
		if isNew {
			p.below(f.at, p.links.After)
		}
	})
}

// items writes a list below its heading, where it has items.
func (p *page) items(heading string, n int, item func(int)) {
	if n == 0 {
		return
	}
	p.put("<h3>%s</h3>\n<ul class=\"findings\">", heading)
	for i := range n {
		p.raw("<li>")
		item(i)
		p.raw("</li>")
	}
	p.raw("</ul>\n")
}

// reason writes a text in a format, and a link to the page about its code.
func (p *page) reason(format, text, code string) {
	p.put(format, text)
	p.put(`<a href="%s">%s</a>`, address(diag.Code(code).URL()), code)
}

func newWord(isNew bool) string { return strings.Trim(newMark(isNew), " ()") }
