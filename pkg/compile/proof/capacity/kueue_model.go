package capacity

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// kueueModel is the queues and flavors of a cluster, by name, with Kueue's arithmetic.
type kueueModel struct {
	flavors    map[string]*flavor
	topologies map[string]*topology
	queues     map[string]*queue
	cohorts    map[string]*queue
	// members are the queues and cohorts below each cohort.
	members map[string][]*queue
}

// flavorQuantity is a number for one resource of one flavor.
type flavorQuantity struct {
	flavor, resource string
	value            int64
}

// flavorQuantities are few: a queue has some flavors with some resources.
type flavorQuantities []flavorQuantity

// get returns the number for a resource of a flavor, or nil.
func (a flavorQuantities) get(flavor, resource string) *flavorQuantity {
	for i := range a {
		if a[i].resource == resource && a[i].flavor == flavor {
			return &a[i]
		}
	}
	return nil
}

func newKueueModel(facts []Facts) *kueueModel {
	m := &kueueModel{
		flavors: map[string]*flavor{}, topologies: map[string]*topology{}, queues: map[string]*queue{}, cohorts: map[string]*queue{},
		members: map[string][]*queue{},
	}
	for i := range facts {
		f := &facts[i]
		for j := range f.flavors {
			m.flavors[f.flavors[j].name] = &f.flavors[j]
		}
		for j := range f.topologies {
			m.topologies[f.topologies[j].name] = &f.topologies[j]
		}
		for j := range f.queues {
			m.addQueue(&f.queues[j])
		}
	}
	return m
}

func (m *kueueModel) addQueue(q *queue) {
	if q.cohort {
		m.cohorts[q.name] = q
	} else {
		m.queues[q.name] = q
	}
	if q.parent != "" {
		m.members[q.parent] = append(m.members[q.parent], q)
	}
}

// maxDepth bounds the height of a tree of cohorts: a circle is found by a check, and must not hang a proof.
const maxDepth = 64

// subtreeQuota is all that a queue or cohort has, with what its members lend it (pkg/cache/scheduler updateCohortResourceNode).
func (m *kueueModel) subtreeQuota(q *queue, flavor, resource string, depth int) int64 {
	total := q.quotaOf(flavor, resource).nominal
	if !q.cohort || depth > maxDepth {
		return total
	}
	for _, member := range m.members[q.name] {
		whole := m.subtreeQuota(member, flavor, resource, depth+1)
		total = addBounded(total, whole-member.localQuota(flavor, resource, whole))
	}
	return total
}

// localQuota is what is not lent, as Kueue's localQuota.
func (q *queue) localQuota(flavor, resource string, whole int64) int64 {
	if lend := q.quotaOf(flavor, resource).lend; lend != nil {
		return max(0, whole-*lend)
	}
	return 0
}

// potentialAvailable is the most that a queue can ever use of a resource of a flavor, when all others are idle, as Kueue's
// potentialAvailable.
func (m *kueueModel) potentialAvailable(q *queue, flavor, resource string) int64 {
	return m.potentialAvailableAt(q, flavor, resource, 0)
}

func (m *kueueModel) potentialAvailableAt(q *queue, flavor, resource string, depth int) int64 {
	if known := q.potentials.get(flavor, resource); known != nil {
		return known.value
	}
	whole := m.subtreeQuota(q, flavor, resource, 0)
	value := whole
	if parent := m.cohorts[q.parent]; parent != nil && depth <= maxDepth {
		value = addBounded(q.localQuota(flavor, resource, whole), m.potentialAvailableAt(parent, flavor, resource, depth+1))
		if borrow := q.quotaOf(flavor, resource).borrow; borrow != nil {
			value = min(value, addBounded(whole, *borrow))
		}
	}
	q.potentials = append(q.potentials, flavorQuantity{flavor, resource, value})
	return value
}

// mayCharge reports whether Kueue may charge a pod set to a flavor: labels, taints and topology (pkg/scheduler/flavorassigner checkFlavorForPodSets). Only the labels
// that some flavor of the group has count.
func (m *kueueModel) mayCharge(q *queue, g *resourceGroup, set *podSet, f *flavor) bool {
	for _, wanted := range set.selector {
		if m.groupDistinguishes(g, wanted.name) && !slices.Contains(f.labels, wanted) {
			return false
		}
	}
	for _, taint := range f.taints {
		if taint.effect != "PreferNoSchedule" && !slices.ContainsFunc(set.tolerated, func(t toleration) bool { return t.admits(taint) }) {
			return false
		}
	}
	return m.suitsTopology(q, set, f)
}

func (m *kueueModel) groupDistinguishes(g *resourceGroup, key string) bool {
	for _, own := range g.flavors {
		f := m.flavors[own.name]
		if f != nil && slices.ContainsFunc(f.labels, func(l label) bool { return l.name == key }) {
			return true
		}
	}
	return false
}

// admits reports whether a toleration is for a taint.
func (t toleration) admits(taint toleration) bool {
	switch {
	case t.effect != "" && t.effect != taint.effect:
		return false
	case t.key == "":
		return t.operator == "Exists"
	case t.key != taint.key:
		return false
	}
	return t.operator == "Exists" || t.value == taint.value
}

// suitsTopology reports whether the flavor suits the pod set's wish for a topology level, or its lack (pkg/scheduler/flavorassigner checkPodSetAndFlavorMatchForTAS).
func (m *kueueModel) suitsTopology(q *queue, set *podSet, f *flavor) bool {
	if set.level == "" {
		return f.topology == "" || q.allFlavorsHaveTopology(m.flavors)
	}
	levels := m.topologies[f.topology]
	return levels != nil && slices.Contains(levels.levels, set.level)
}

// queueRefusal is why a queue never admits a job. The zero refusal means that it does.
type queueRefusal struct {
	// uncovered is a resource that the queue does not count.
	uncovered string
	// unplaced is a pod set that no flavor takes.
	unplaced string
	// short is a resource of a flavor of which the job wants more than there can ever be.
	short        string
	flavor       string
	wanted, most int64
}

func (r queueRefusal) admitted() bool { return r == queueRefusal{} }

// code is the finding about a refusal.
func (r queueRefusal) code() diag.Code {
	switch {
	case r.uncovered != "":
		return diag.NotCovered
	case r.unplaced != "":
		return diag.QueueUnreachable
	}
	return diag.DefaultJobDoesNotFit
}

// admits reports whether a queue admits a job when nothing else runs: pod set after pod set, each to the first flavor that takes it
// and has room, as Kueue's scheduler does.
func (m *kueueModel) admits(q *queue, r *runtime, nodes int64) queueRefusal {
	used := make(flavorQuantities, 0, 2*len(r.node.requests))
	if why := m.chargePodSet(q, &r.launcher, 1, &used); !why.admitted() {
		return why
	}
	if pods := r.nodePods(nodes); pods > 0 {
		return m.chargePodSet(q, &r.node, pods, &used)
	}
	return queueRefusal{}
}

func (m *kueueModel) chargePodSet(q *queue, set *podSet, pods int64, used *flavorQuantities) queueRefusal {
	var g *resourceGroup
	for _, request := range set.requests {
		if request.value == 0 {
			continue
		}
		if g = q.groupCovering(request.name); g == nil {
			return queueRefusal{uncovered: request.name}
		}
	}
	if g == nil {
		return queueRefusal{}
	}
	why := queueRefusal{unplaced: set.name}
	for i := range g.flavors {
		f := m.flavors[g.flavors[i].name]
		if f == nil || !m.mayCharge(q, g, set, f) {
			continue
		}
		short := m.chargeFlavor(q, f.name, set, pods, used)
		if short.admitted() {
			return queueRefusal{}
		}
		if why.unplaced != "" || short.most > 0 {
			why = short
		}
	}
	return why
}

// chargeFlavor charges a pod set to a flavor if there can ever be enough of it.
func (m *kueueModel) chargeFlavor(q *queue, flavor string, set *podSet, pods int64, used *flavorQuantities) queueRefusal {
	for _, request := range set.requests {
		wanted, most := multiplyBounded(request.value, pods), m.potentialAvailable(q, flavor, request.name)
		if before := used.get(flavor, request.name); before != nil {
			wanted = addBounded(wanted, before.value)
		}
		if wanted > most {
			return queueRefusal{short: request.name, flavor: flavor, wanted: wanted, most: most}
		}
	}
	for _, request := range set.requests {
		if before := used.get(flavor, request.name); before != nil {
			before.value = addBounded(before.value, multiplyBounded(request.value, pods))
			continue
		}
		*used = append(*used, flavorQuantity{flavor, request.name, multiplyBounded(request.value, pods)})
	}
	return queueRefusal{}
}

// largestAdmitted returns the largest job that a queue ever admits, between a number of nodes that it admits and one that it does not.
func (m *kueueModel) largestAdmitted(q *queue, r *runtime, admitted, refused int64) int64 {
	for refused-admitted > 1 {
		if middle := (admitted + refused) / 2; m.admits(q, r, middle).admitted() {
			admitted = middle
		} else {
			refused = middle
		}
	}
	return admitted
}
