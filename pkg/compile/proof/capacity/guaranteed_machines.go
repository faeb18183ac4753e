package capacity

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func countedMachines(name string, q resource.Quantity) int64 {
	return boundedAmount(q, isCPU(name))
}

func fromSpan(from *origin.Origin) source.Span {
	if from == nil {
		return source.Span{}
	}
	return from.At
}

// checkMachines asks that queues and cohorts together guarantee no more of a flavor than its machines have. A cohort's own quota
// comes on top of that of its members (https://github.com/kubernetes-sigs/kueue/issues/5289).
func (p *proof) checkMachines() {
	for i := range p.c.Capacity {
		m := &p.c.Capacity[i]
		for _, unit := range p.units[m.Profile.Name] {
			total := p.guaranteedAmount(m.Profile.Name, unit.name)
			if has := multiplyBounded(unit.value, int64(m.Nodes.V)); total > has {
				p.reportTooMany(m, unit, total, has)
				break
			}
		}
	}
}

func (p *proof) guaranteedAmount(flavor, resource string) int64 {
	var total int64
	for _, q := range p.all {
		total = addBounded(total, q.quotaOf(flavor, resource).nominal)
	}
	return total
}

func (p *proof) reportTooMany(m *plan.Machines, unit amount, total, has int64) {
	report := p.reportAtPatch(diag.CapacityExceeded, m.Nodes.At, p.patchesOfFlavor(m.Profile.Name, unit.name), "`%s` has %d machines of `%s` (%s %s), its queues guarantee %d (%s %s)",
		p.c.Name.V, m.Nodes.V, m.Profile.Name, amountText(unit.name, has), unit.name, -(-total/unit.value), amountText(unit.name, total), unit.name).
		Helpf("lower `nodes` of shares by %d in sum, or raise `capacity`", addBounded(total-has, unit.value-1)/unit.value)
	for _, q := range p.largestShares(m.Profile.Name, unit.name) {
		report.Also(fromSpan(q.quotaOf(m.Profile.Name, unit.name).from), "`%s` has %d", q.name, q.quotaOf(m.Profile.Name, unit.name).nominal/unit.value)
	}
}

// patchesOfFlavor are the places of patches that changed what queues have of a flavor.
func (p *proof) patchesOfFlavor(flavor, resource string) []source.Span {
	var patches []source.Span
	for _, q := range p.all {
		patches = append(patches, patchPlace(q.quotaOf(flavor, resource).from))
	}
	return patches
}

// largestShares are the three queues with most of a flavor.
func (p *proof) largestShares(flavor, resource string) []*queue {
	holders := slices.DeleteFunc(slices.Clone(p.all), func(q *queue) bool { return q.quotaOf(flavor, resource).nominal == 0 })
	slices.SortStableFunc(holders, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(b.quotaOf(flavor, resource).nominal, a.quotaOf(flavor, resource).nominal), cmp.Compare(a.name, b.name))
	})
	return holders[:min(3, len(holders))]
}

// checkWholeMachines asks that what a queue holds of a flavor is one number of whole machines, whatever the resource: then all members of
// a cohort count in one unit (https://github.com/kubernetes-sigs/kueue/issues/12207).
func (p *proof) checkWholeMachines(q *queue) {
	for _, g := range q.groups {
		for i := range g.flavors {
			f := &g.flavors[i]
			unit, known := p.units[f.name]
			if !known {
				continue
			}
			p.checkScale(q, f, unit, "nominalQuota", func(h resourceQuota) (int64, bool, *origin.Origin) { return h.nominal, true, h.from })
			p.checkScale(q, f, unit, "borrowingLimit", func(h resourceQuota) (int64, bool, *origin.Origin) { return limitOrNone(h.borrow, h.borrowFrom) })
			p.checkScale(q, f, unit, "lendingLimit", func(h resourceQuota) (int64, bool, *origin.Origin) { return limitOrNone(h.lend, h.lendFrom) })
		}
	}
}

func limitOrNone(limit *int64, from *origin.Origin) (int64, bool, *origin.Origin) {
	if limit == nil {
		return 0, false, nil
	}
	return *limit, true, from
}

// checkScale compares one field of all resources of a flavor. Resources that the machines do not have are 0.
func (p *proof) checkScale(q *queue, f *flavorQuota, unit amounts, field string, get func(resourceQuota) (int64, bool, *origin.Origin)) {
	var first *resourceQuota
	var machines int64
	for i := range f.resources {
		h := &f.resources[i]
		value, written, from := get(*h)
		one := unit.value(h.name)
		switch _, again, _ := get(f.resources[0]); {
		case again != written:
			p.reportOutOfScale(q, f, h, field, fromSpan(cmp.Or(from, h.from)), "is not there for all resources")
			return
		case !written:
			continue
		case one == 0 && value != 0, one > 0 && value%one != 0:
			p.reportOutOfScale(q, f, h, field, fromSpan(from), "is not a whole number of machines")
			return
		case one == 0:
			continue
		case first != nil && value/one != machines:
			p.reportOutOfScale(q, f, h, field, fromSpan(from), "is for another number of machines than that of "+first.name)
			return
		}
		first, machines = h, value/one
	}
}

func (p *proof) reportOutOfScale(q *queue, f *flavorQuota, h *resourceQuota, field string, span source.Span, what string) {
	p.reportAtPatch(diag.QuotaOutOfScale, span, []source.Span{patchPlace(h.from), q.patch}, "`%s`: the %s of %s in the flavor `%s` %s", q.name, field, h.name, f.name, what).
		Notef("one machine counts for %s %s", amountText(h.name, p.units[f.name].value(h.name)), h.name).
		Helpf("change the number of machines in the spec, not single amounts in a patch")
}

// checkDevices warns of quotas that promise more devices than there are, beside what queues guarantee. CPU and memory are not
// compared: teams share them all the time.
func (p *proof) checkDevices() {
	for _, name := range p.c.Accelerators {
		has, where := p.deviceCount(name)
		granted := p.deviceQuotas(name)
		if where == nil || len(granted) == 0 {
			continue
		}
		var promised int64
		for _, m := range p.c.Capacity {
			promised = addBounded(promised, p.guaranteedAmount(m.Profile.Name, name))
		}
		for _, g := range granted {
			promised = addBounded(promised, g.value)
		}
		if promised > has {
			largest := slices.MaxFunc(granted, func(a, b amount) int { return cmp.Compare(a.value, b.value) })
			p.list.Warnf(diag.Overcommitted, where.Nodes.At, "`%s` has %d %s, and quotas and queues promise %d", p.c.Name.V, has, name, promised).
				Also(fromSpan(largest.from), "the largest quota, %d in `%s`", largest.value, largest.name).
				Helpf("%s", overcommitHelp(p.c.Queueing != nil))
		}
	}
}

// deviceQuotas are the quotas for a device, by namespace, in the order of the tenants.
func (p *proof) deviceQuotas(device string) []amount {
	var result []amount
	for _, t := range p.c.Tenants {
		for i := range t.Namespaces {
			for _, quota := range p.namespace(t.Namespaces[i].V).quotas {
				if g, found := quota.hard.get("requests." + device); found && g.value > 0 {
					result = append(result, amount{name: quota.namespace, value: g.value, from: g.from})
				}
			}
		}
	}
	return result
}

// deviceCount are how many of an accelerator a cluster has, and the first profile with it.
func (p *proof) deviceCount(name string) (int64, *plan.Machines) {
	var has int64
	var where *plan.Machines
	for i := range p.c.Capacity {
		m := &p.c.Capacity[i]
		if m.Profile.Accelerator.V == name {
			has += int64(m.Profile.Accelerators.V) * int64(m.Nodes.V)
			where = cmp.Or(where, m)
		}
	}
	return has, where
}

// overcommitHelp: where jobs queue, a quota beside the queues is what takes machines away from them.
func overcommitHelp(queues bool) string {
	if queues {
		return "lower quotas, or give the tenants shares in a `queue`: jobs without one take machines that are guaranteed to others"
	}
	return "lower quotas, or switch `queueing` on so that jobs wait in order"
}
