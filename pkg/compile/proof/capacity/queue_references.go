package capacity

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

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

// checkReferences asks that what a queue or cohort names is there: its cohort, its flavors and their topologies; and that each flavor
// lists what its group covers.
func (p *proof) checkReferences(q *queue) {
	if q.parent != "" && p.cohorts[q.parent] == nil {
		p.reportAtPatch(diag.QueueUnreachable, fromSpan(q.parentFrom), p.removalPlaces("Cohort", "", q.parent), "`%s` is in the cohort `%s`, which is not compiled", q.name, q.parent)
	}
	for _, g := range q.groups {
		for i := range g.flavors {
			p.checkFlavorReference(q, &g, &g.flavors[i])
		}
	}
}

func (p *proof) checkFlavorReference(q *queue, g *resourceGroup, own *flavorQuota) {
	f := p.flavors[own.name]
	if f == nil {
		p.reportAtPatch(diag.QueueUnreachable, fromSpan(own.from), p.removalPlaces("ResourceFlavor", "", own.name), "`%s` has quota of the flavor `%s`, which is not compiled: Kueue stops the queue", q.name, own.name)
		return
	}
	if f.topology != "" && p.topologies[f.topology] == nil {
		p.reportAtPatch(diag.QueueUnreachable, f.at, append(p.removalPlaces("Topology", "", f.topology), f.patch), "the flavor `%s` has the topology `%s`, which is not compiled: Kueue stops its queues", f.name, f.topology)
	}
	same := slices.EqualFunc(g.covered, own.resources, func(name string, h resourceQuota) bool { return name == h.name })
	if !same {
		p.reportAtPatch(diag.NotCovered, fromSpan(own.from), []source.Span{q.patch}, "`%s`: the flavor `%s` does not list the covered resources %s in their order: Kueue refuses the queue", q.name, own.name, quotedNames(g.covered))
	}
}

// checkReached asks that jobs of a namespace reach the tenant's queue, and that nobody else does.
func (p *proof) checkReached(q *queue, name *plan.Value[string], n *namespace) {
	switch {
	case n.local == nil:
		p.reportAtPatch(diag.QueueUnreachable, name.At, p.removalPlaces("LocalQueue", name.V, plan.LocalQueue), "the namespace `%s` has no LocalQueue `%s`: its jobs would wait forever", name.V, plan.LocalQueue)
	case n.local.queue != q.name:
		p.reportAtPatch(diag.QueueUnreachable, name.At, []source.Span{n.local.patch}, "the LocalQueue of `%s` leads to `%s`, not to the tenant's queue `%s`", name.V, n.local.queue, q.name)
	case p.c.OpenShift && n.unmanaged != nil:
		p.reportAtPatch(diag.QueueUnreachable, name.At, []source.Span{n.unmanaged.patch}, "Red Hat's Kueue does not queue the jobs of the namespace `%s`, which lacks the label `%s: \"true\"`: they start at once", name.V, plan.ManagedByKueueLabel)
	case !q.everywhere && !slices.Contains(q.namespaces, name.V):
		p.reportAtPatch(diag.QueueUnreachable, name.At, []source.Span{q.patch}, "the queue `%s` does not admit jobs from `%s`", q.name, name.V).Helpf("`namespaceSelector` must name it")
	}
	for _, quota := range n.quotas {
		p.checkCountedOnce(q, quota)
	}
}

// checkCountedOnce asks that a quota does not count what the queue counts (https://github.com/kubernetes-sigs/kueue/issues/1403).
func (p *proof) checkCountedOnce(q *queue, quota *namespaceQuota) {
	for _, hard := range quota.hard {
		for _, name := range []string{hard.name, trimmed(hard.name, "requests."), trimmed(hard.name, "limits.")} {
			if q.groupCovering(name) != nil {
				p.list.Errorf(diag.CountedTwice, fromSpan(hard.from), "the quota of `%s` and the queue `%s` both count %s: one day Kueue admits a job whose pods the quota refuses", quota.namespace, q.name, name).
					Helpf("look at the patch that adds `%s` to the quota", hard.name)
				return
			}
		}
	}
}

// checkQueue asks that a queue does what its spec says: it is in its cohort, serves its tenant alone, and preempts whom it may.
func (p *proof) checkQueue(t *plan.Tenant, q *queue) {
	if q.parent != t.Queue.Cohort.V {
		p.reportAtPatch(diag.Unfaithful, t.Queue.Cohort.At, []source.Span{q.patch}, "the queue `%s` is in the cohort `%s`, its spec says `%s`", q.name, q.parent, t.Queue.Cohort.V)
	}
	own := func(name string) bool {
		return slices.ContainsFunc(t.Namespaces, func(n plan.Value[string]) bool { return n.V == name })
	}
	foreign := slices.IndexFunc(q.namespaces, func(name string) bool { return !own(name) })
	switch {
	case q.everywhere:
		p.reportAtPatch(diag.Unfaithful, t.Name.At, []source.Span{q.patch}, "the queue `%s` admits jobs from namespaces of others", q.name).Helpf("select namespaces by the label `kubernetes.io/metadata.name`")
	case foreign >= 0:
		p.reportAtPatch(diag.Unfaithful, t.Name.At, []source.Span{q.patch}, "the queue `%s` admits jobs from `%s`, which is not the tenant's", q.name, q.namespaces[foreign])
	}
	p.checkShares(t, q)
	reclaim, within := "Never", "Never"
	if t.Queue.Preempts.V != plan.PreemptsNobody && q.parent != "" {
		reclaim = "Any"
	}
	if t.Queue.Preempts.V == plan.PreemptsLower {
		within = "LowerPriority"
	}
	if q.reclaim != reclaim || q.within != within {
		p.reportAtPatch(diag.Unfaithful, t.Queue.Preempts.At, []source.Span{q.patch}, "the queue `%s` preempts `%s` in its cohort and `%s` of its own jobs; `%s` means `%s` and `%s`",
			q.name, q.reclaim, q.within, t.Queue.Preempts.V, reclaim, within)
	}
}

// checkPriorities asks that each priority of the cluster is one for workloads too, with the same number.
func (p *proof) checkPriorities() {
	if p.c.Queueing == nil {
		return
	}
	for _, wanted := range p.c.Priorities {
		i := slices.IndexFunc(p.priorities, func(have priority) bool { return have.name == wanted.Name.V })
		switch {
		case i < 0:
			p.reportAtPatch(diag.Unfaithful, wanted.Name.At, p.removalPlaces("WorkloadPriorityClass", "", wanted.Name.V), "the priority `%s` has no WorkloadPriorityClass", wanted.Name.V)
		case p.priorities[i].value != int64(wanted.Level.V):
			p.reportAtPatch(diag.Unfaithful, wanted.Level.At, []source.Span{p.priorities[i].patch}, "the WorkloadPriorityClass `%s` is %d, its spec says %d", wanted.Name.V, p.priorities[i].value, wanted.Level.V)
		case p.priorities[i].description != wanted.Description.V:
			p.reportAtPatch(diag.Unfaithful, wanted.Name.At, []source.Span{p.priorities[i].patch}, "the WorkloadPriorityClass `%s` is described otherwise than in its spec", wanted.Name.V)
		}
	}
}
