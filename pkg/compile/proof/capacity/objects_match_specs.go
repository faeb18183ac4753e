package capacity

import (
	"math"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Quotas, limits and shares are promises to all other tenants: what is compiled may hold a tenant to less than its spec says, which
// other proofs compare with its jobs, but never allow more.

// grantedAmounts returns the most that a namespace of a tenant may hold, by the names that a ResourceQuota has for it.
func grantedAmounts(t *plan.Tenant) amounts {
	q := &t.Quota
	all := amounts{
		{name: "count/trainjobs.trainer.kubeflow.org", value: q.Jobs.V, from: &q.Jobs.Origin},
		{name: "pods", value: q.Pods.V, from: &q.Pods.Origin},
	}
	add := func(name string, value int64, from *origin.Origin) { all = append(all, amount{name, value, from}) }
	if q.Storage.V != nil {
		add("requests.storage", countedMachines("requests.storage", *q.Storage.V), &q.Storage.Origin)
	}
	if t.Queue != nil {
		return all // its queue counts the rest
	}
	add("requests.cpu", countedMachines("requests.cpu", q.CPU.V), &q.CPU.Origin)
	add("requests.memory", countedMachines("requests.memory", q.Memory.V), &q.Memory.Origin)
	add("limits.memory", countedMachines("limits.memory", q.Memory.V), &q.Memory.Origin)
	for i := range q.Accelerators {
		own := &q.Accelerators[i]
		add("requests."+own.Name, countedMachines(own.Name, own.V), &own.Origin)
	}
	return all
}

// checkQuota asks that the quotas of a namespace together allow no more than the spec of its tenant.
func (p *proof) checkQuota(spec amounts, name string, n *namespace) {
	if len(n.quotas) == 0 {
		return // reported as missing
	}
	for _, most := range spec {
		var least *amount
		for _, q := range n.quotas {
			if has, found := q.hard.get(most.name); found && !q.scoped && (least == nil || has.value < least.value) {
				least = &has
			}
		}
		switch {
		case least == nil:
			p.reportAtPatch(diag.Unfaithful, fromSpan(most.from), p.patchesOfNamespace(name, n), "no quota of the namespace `%s` bounds %s, its spec says %s", name, most.name, amountText(most.name, most.value))
			return
		case least.value > most.value:
			p.reportAtPatch(diag.Unfaithful, fromSpan(most.from), []source.Span{otherSpan(least.from, most.from)}, "the quota of the namespace `%s` allows %s %s, its spec says %s", name, amountText(most.name, least.value), most.name, amountText(most.name, most.value))
		}
	}
}

// otherSpan is the place of a value that does not come from where its spec says it, or nowhere.
func otherSpan(from, spec *origin.Origin) source.Span {
	if fromSpan(from) == fromSpan(spec) {
		return source.Span{}
	}
	return fromSpan(from)
}

// patchesOfNamespace are the places of patches that changed quotas or limits of a namespace, or removed one.
func (p *proof) patchesOfNamespace(name string, n *namespace) []source.Span {
	var places []source.Span
	for _, q := range n.quotas {
		places = append(places, q.patch)
	}
	return append(places, p.removalPlaces("ResourceQuota", name, "")...)
}

// checkContainerMax asks that a container of a namespace may take no more than the spec of its tenant says.
func (p *proof) checkContainerMax(t *plan.Tenant, name string, n *namespace) {
	l := &t.Limits
	if l.MaxCPU.V != nil {
		most := t.MaxCPULimit(p.c)
		p.checkMaxNotAbove(amount{"cpu", countedMachines("cpu", *most.V), &l.MaxCPU.Origin}, name, n)
	}
	if l.MaxMemory.V != nil {
		p.checkMaxNotAbove(amount{"memory", countedMachines("memory", *l.MaxMemory.V), &l.MaxMemory.Origin}, name, n)
	}
}

func (p *proof) checkMaxNotAbove(most amount, name string, n *namespace) {
	if len(n.limits) == 0 {
		return // reported as missing
	}
	least, patches := amount{value: math.MaxInt64}, p.removalPlaces("LimitRange", name, "")
	for _, l := range n.limits {
		patches = append(patches, l.patch)
		if has, found := l.most.get(most.name); found && has.value < least.value {
			least = has
		}
	}
	if least.value > most.value {
		p.reportAtPatch(diag.Unfaithful, fromSpan(most.from), patches, "the limits of the namespace `%s` let a container take more than %s %s, which its spec says", name, amountText(most.name, most.value), most.name)
	}
}

// checkShares asks that a queue holds the machines of its tenant's shares and borrows no more than they say.
func (p *proof) checkShares(t *plan.Tenant, q *queue) {
	of := map[string]*plan.Share{}
	for i := range t.Queue.Shares {
		of[t.Queue.Shares[i].Profile.Name] = &t.Queue.Shares[i]
	}
	for _, g := range q.groups {
		for i := range g.flavors {
			p.checkShare(t, q, &g.flavors[i], of[g.flavors[i].name])
		}
	}
}

func (p *proof) checkShare(t *plan.Tenant, q *queue, f *flavorQuota, share *plan.Share) {
	for i := range f.resources {
		h := &f.resources[i]
		one, spec := p.units[f.name].value(h.name), t.Name.At
		var nodes, borrow int64
		borrows := false
		if share != nil {
			spec, nodes, borrows = share.Nodes.At, int64(share.Nodes.V), share.Borrow.V == nil
			if !borrows {
				borrow = int64(*share.Borrow.V)
			}
		}
		switch {
		case h.nominal > multiplyBounded(one, nodes):
			p.reportAtPatch(diag.Unfaithful, spec, []source.Span{patchPlace(h.from), q.patch}, "the queue `%s` has %s %s of `%s`, its spec says %s", q.name, amountText(h.name, h.nominal), h.name, f.name, amountText(h.name, multiplyBounded(one, nodes)))
			return
		case q.parent != "" && !borrows && one > 0 && (h.borrow == nil || *h.borrow > multiplyBounded(one, borrow)):
			p.reportAtPatch(diag.Unfaithful, spec, []source.Span{patchPlace(h.borrowFrom), q.patch}, "the queue `%s` borrows more %s of `%s` than its spec says: %s", q.name, h.name, f.name, amountText(h.name, multiplyBounded(one, borrow)))
			return
		}
	}
}
