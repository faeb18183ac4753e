package capacity

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// Prove reports what the objects of a cluster cannot do together. Facts are those of all its units.
func Prove(c *plan.Cluster, facts []Facts, list *diag.List) {
	p := newProof(c, facts, list)
	p.units = p.machineUnits()

	// What all tenants share.
	p.checkMachines()
	for _, q := range p.all {
		p.checkWholeMachines(q)
		p.checkQueueLimits(q)
		p.checkReferences(q)
	}
	p.checkFlavors()
	p.checkPriorities()
	p.checkDevices()

	// Each tenant.
	for _, t := range c.Tenants {
		p.checkTenant(t)
	}
}

func newProof(c *plan.Cluster, facts []Facts, list *diag.List) *proof {
	p := &proof{c: c, list: list, kueueModel: newKueueModel(facts), runtimes: map[string]*runtime{}, namespaces: map[string]*namespace{}, causes: map[findingCause]*knownFinding{}}
	for i := range facts {
		p.readFacts(&facts[i])
	}
	return p
}

// proof is one cluster while it is judged.
type proof struct {
	*kueueModel
	c    *plan.Cluster
	list *diag.List
	// all are queues and cohorts in the order of the facts.
	all        []*queue
	runtimes   map[string]*runtime
	namespaces map[string]*namespace
	priorities []priority
	gone       object.Removals
	// units are what one machine of a profile counts for.
	units map[string]amounts
	// causes are findings that several runtimes may share.
	causes map[findingCause]*knownFinding
}

// namespace is what is known of one namespace.
type namespace struct {
	local *localQueue
	// unmanaged is nil for a namespace with the label of Red Hat's Kueue.
	unmanaged *unmanagedNamespace
	quotas    []*namespaceQuota
	limits    []*limitRange
	claims    []*claim
	runtimes  []*runtime
}

func (p *proof) readFacts(f *Facts) {
	for i := range f.queues {
		p.all = append(p.all, &f.queues[i])
	}
	p.priorities = append(p.priorities, f.priorities...)
	p.gone = p.gone.Join(f.removed)
	for i := range f.runtimes {
		if r := &f.runtimes[i]; r.namespace == "" {
			p.runtimes[r.name] = r
		} else {
			n := p.namespace(r.namespace)
			n.runtimes = append(n.runtimes, r)
		}
	}
	for i := range f.locals {
		if l := &f.locals[i]; l.name == plan.LocalQueue {
			p.namespace(l.namespace).local = l
		}
	}
	for i := range f.unmanaged {
		p.namespace(f.unmanaged[i].namespace).unmanaged = &f.unmanaged[i]
	}
	for i := range f.quotas {
		n := p.namespace(f.quotas[i].namespace)
		n.quotas = append(n.quotas, &f.quotas[i])
	}
	for i := range f.limits {
		n := p.namespace(f.limits[i].namespace)
		n.limits = append(n.limits, &f.limits[i])
	}
	for i := range f.claims {
		n := p.namespace(f.claims[i].namespace)
		n.claims = append(n.claims, &f.claims[i])
	}
}

func (p *proof) namespace(name string) *namespace {
	n := p.namespaces[name]
	if n == nil {
		n = &namespace{}
		p.namespaces[name] = n
	}
	return n
}

// machineUnits is what one machine of each profile counts for: what it offers, or a node and its launcher of a compiled runtime
// where these take more together.
func (p *proof) machineUnits() map[string]amounts {
	units := map[string]amounts{}
	for _, m := range p.c.Capacity {
		var unit amounts
		for _, offer := range m.Profile.Allocatable() {
			unit = append(unit, amount{name: offer.Name, value: countedMachines(offer.Name, offer.V), from: &offer.Origin})
		}
		units[m.Profile.Name] = unit
	}
	for _, r := range p.runtimes {
		unit, found := units[r.profile]
		if !found || r.runsRanks {
			continue
		}
		both := addAmounts(r.node.requests, r.launcher.requests, 1)
		units[r.profile] = maxAmounts(unit, slices.DeleteFunc(both, func(a amount) bool { return unit.value(a.name) == 0 }))
	}
	return units
}

// checkTenant proves what concerns one tenant.
func (p *proof) checkTenant(t *plan.Tenant) {
	var q *queue
	if t.Queue != nil {
		if q = p.queues[t.Name.V]; q == nil {
			p.reportAtPatch(diag.QueueUnreachable, t.Queue.Shares[0].ProfileName.At, p.removalPlaces("ClusterQueue", "", t.Name.V), "the tenant `%s` has shares and no ClusterQueue is compiled", t.Name.V)
			return
		}
		p.checkQueue(t, q)
	}
	p.checkNamespaces(t)
	if q != nil {
		for i := range t.Namespaces {
			p.checkReached(q, &t.Namespaces[i], p.namespace(t.Namespaces[i].V))
		}
		p.checkQueueAdmits(t, q)
	}
}

// usableRuntimes are the runtimes that a tenant can use: those of the catalog, and its own, which are the same in all its namespaces.
func (p *proof) usableRuntimes(t *plan.Tenant) []*runtime {
	result := make([]*runtime, 0, len(t.Usable)+len(t.Variants))
	for _, r := range t.Usable {
		if found := p.runtimes[r.Name.V]; found != nil {
			result = append(result, found)
		}
	}
	if len(t.Namespaces) > 0 && len(t.Variants) > 0 {
		result = append(result, p.namespace(t.Namespaces[0].V).runtimes...)
	}
	return result
}

func quotedNames(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// checkNamespaces proves what no other tenant changes.
func (p *proof) checkNamespaces(t *plan.Tenant) {
	spec := grantedAmounts(t)
	for i := range t.Namespaces {
		n := p.namespace(t.Namespaces[i].V)
		p.checkLimited(&t.Namespaces[i], n)
		p.checkQuota(spec, t.Namespaces[i].V, n)
		p.checkContainerMax(t, t.Namespaces[i].V, n)
		p.checkLimitRanges(n)
		p.checkClaims(n)
	}
	for _, r := range p.usableRuntimes(t) {
		p.checkLimitRangeAdmits(t, r)
		p.checkQuotaAdmits(t, r)
	}
}
