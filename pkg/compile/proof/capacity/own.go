package capacity

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// ProveOwn reports of Prove's findings those that depend on nothing but one tenant and the runtimes that it uses: what its quotas and
// limits refuse. Facts are those of the cluster's tenants and of their runtimes.
func ProveOwn(c *plan.Cluster, facts []Facts, list *diag.List) {
	p := newProof(c, facts, list)
	for _, t := range c.Tenants {
		p.own(t)
	}
}

// own proves what no other tenant changes.
func (p *proof) own(t *plan.Tenant) {
	spec := granted(t)
	for i := range t.Namespaces {
		n := p.namespace(t.Namespaces[i].V)
		p.limited(&t.Namespaces[i], n)
		p.quotaFaithful(spec, t.Namespaces[i].V, n)
		p.limitsFaithful(t, t.Namespaces[i].V, n)
		p.limitsInOrder(n)
		p.claimsFit(n)
	}
	for _, r := range p.usable(t) {
		p.limitsAdmit(t, r)
		p.quotasAdmit(t, r)
	}
}

// WithoutOwn returns the facts without those that only ProveOwn looks at: limits, and quotas of what is not a device.
func (f Facts) WithoutOwn() Facts {
	f.limits = nil
	f.quotas = slices.Clone(f.quotas)
	for i := range f.quotas {
		f.quotas[i].hard = slices.DeleteFunc(slices.Clone(f.quotas[i].hard), func(a amount) bool { return !isDevice(a.name) })
	}
	return f
}

// isDevice says whether a quota counts something that a cluster has a number of: an extended resource, whose name has a domain.
func isDevice(hard string) bool {
	resource, isRequest := strings.CutPrefix(hard, "requests.")
	return isRequest && strings.Contains(resource, "/")
}
