package capacity

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

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
