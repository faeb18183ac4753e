package capacity

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

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
