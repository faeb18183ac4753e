package render

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
)

// maxFindings is how many findings of each kind a page has.
const maxFindings = 200

// writeFindings writes what the compiler says, and what specs accept.
func (p *htmlPage) writeFindings(f *group.Findings) {
	p.raw("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings and waivers</h2>\n")
	p.writeFindingList("New findings of the compiler", findingsOf(f.New), true)
	accepted := joinWaivers(f.Waived)
	p.writeItems("Accepted by waivers", min(maxFindings, len(accepted)), func(i int) {
		w := &accepted[i]
		p.put("until %s", escapeControl(w.Until))
		p.putIfSet(` <span class="badge notice">%s</span>`, newMarkWord(w.New))
		p.writeReason(": %s (", escapeControl(w.Reason)+moreLikeIt(w.more), w.Code)
		p.raw(")")
		p.writeLineBelow(w.At, p.links.After)
	})
	p.writeItems("Waivers that change", min(maxFindings, len(f.Waivers)), func(i int) {
		w := &f.Waivers[i]
		p.put("%s", waiverText(w))
		p.writeReason(": %s (", escapeControl(w.Reason), w.Code)
		p.raw(")")
		if w.How == group.WaiverRemoved {
			p.writeLineBelow(w.At, p.links.Before)
		} else {
			p.writeLineBelow(w.At, p.links.After)
		}
	})
	p.writeItems("Files that decide about reviews", min(maxFindings, len(f.Deciding)), func(i int) { p.put("%s", decidingText(f.Deciding[i])) })
	p.writeFindingList("Findings that are gone", findingsOf(f.Fixed), false)
	p.raw("</section>\n")
}

// writeFindingList writes findings; those that are new have their severity and their line.
func (p *htmlPage) writeFindingList(heading string, all []groupedFinding, isNew bool) {
	p.writeItems(heading, min(maxFindings+1, len(all)), func(i int) {
		if i == maxFindings {
			p.raw("There are more, for which there is no room; the format json has them all.")
			return
		}
		f := &all[i]
		if isNew {
			p.put(`<span class="badge %s">%s</span> `, f.severity, f.severity)
		}
		p.writeReason("%s (", escapeControl(f.message)+moreLikeIt(f.more), f.code)
		p.raw(")")
		if isNew {
			p.writeLineBelow(f.at, p.links.After)
		}
	})
}

// writeItems writes a list below its heading, where it has items.
func (p *htmlPage) writeItems(heading string, n int, item func(int)) {
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

// writeReason writes a text in a format, and a link to the page about its code.
func (p *htmlPage) writeReason(format, text, code string) {
	p.put(format, text)
	p.putPageLink(diag.Code(code).URL(p.docs), code)
}

func newMarkWord(isNew bool) string { return strings.Trim(newMark(isNew), " ()") }

// putPageLink writes a text, as a link if there is a page about it.
func (p *htmlPage) putPageLink(address, text string) {
	if address == "" {
		p.put("%s", text)
		return
	}
	p.put(`<a href="%s">%s</a>`, safeAddress(address), text)
}
