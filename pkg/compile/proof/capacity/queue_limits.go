package capacity

import "lockstep.dev/lockstep/pkg/compile/diag"

// checkQueueLimits asks that Kueue accepts the bounds of a queue: only below a cohort, and lending no more than there is.
func (p *proof) checkQueueLimits(q *queue) {
	for _, g := range q.groups {
		for i := range g.flavors {
			p.checkFlavorLimits(q, &g.flavors[i])
		}
	}
}

func (p *proof) checkFlavorLimits(q *queue, f *flavorQuota) {
	for _, h := range f.resources {
		switch {
		case q.parent == "" && h.borrow != nil:
			p.list.Errorf(diag.LimitRefused, fromSpan(h.borrowFrom), "`%s` bounds borrowing in the flavor `%s` and is in no cohort", q.name, f.name).Helpf("remove the bound")
			return
		case q.parent == "" && h.lend != nil:
			p.list.Errorf(diag.LimitRefused, fromSpan(h.lendFrom), "`%s` bounds lending in the flavor `%s` and is in no cohort", q.name, f.name).Helpf("remove the bound")
			return
		case !q.cohort && h.lend != nil && *h.lend > h.nominal:
			p.list.Errorf(diag.LimitRefused, fromSpan(h.lendFrom), "`%s` lends %s %s of the flavor `%s` and has %s", q.name, amountText(h.name, *h.lend), h.name, f.name, amountText(h.name, h.nominal)).
				Also(fromSpan(h.from), "it has this").Helpf("lower `lend`")
			return
		}
	}
}
