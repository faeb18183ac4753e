package capacity

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// book is the queues and flavors of a cluster, by name, with Kueue's arithmetic.
type book struct {
	flavors    map[string]*flavor
	topologies map[string]*topology
	queues     map[string]*queue
	cohorts    map[string]*queue
	// members are the queues and cohorts below each cohort.
	members map[string][]*queue
}

// account is a number for one resource of one flavor.
type account struct {
	flavor, resource string
	value            int64
}

// accounts are few: a queue has some flavors with some resources.
type accounts []account

// of returns the account of a resource of a flavor, or nil.
func (a accounts) of(flavor, resource string) *account {
	for i := range a {
		if a[i].resource == resource && a[i].flavor == flavor {
			return &a[i]
		}
	}
	return nil
}

func newBook(facts []Facts) *book {
	b := &book{
		flavors: map[string]*flavor{}, topologies: map[string]*topology{}, queues: map[string]*queue{}, cohorts: map[string]*queue{},
		members: map[string][]*queue{},
	}
	for i := range facts {
		f := &facts[i]
		for j := range f.flavors {
			b.flavors[f.flavors[j].name] = &f.flavors[j]
		}
		for j := range f.topologies {
			b.topologies[f.topologies[j].name] = &f.topologies[j]
		}
		for j := range f.queues {
			b.enter(&f.queues[j])
		}
	}
	return b
}

func (b *book) enter(q *queue) {
	if q.cohort {
		b.cohorts[q.name] = q
	} else {
		b.queues[q.name] = q
	}
	if q.parent != "" {
		b.members[q.parent] = append(b.members[q.parent], q)
	}
}

// maxDepth bounds the height of a tree of cohorts: a circle is found by a check, and must not hang a proof.
const maxDepth = 64

// subtree is all that a queue or cohort has, with what its members lend it (updateCohortResourceNode).
func (b *book) subtree(q *queue, flavor, resource string, depth int) int64 {
	total := q.of(flavor, resource).nominal
	if !q.cohort || depth > maxDepth {
		return total
	}
	for _, member := range b.members[q.name] {
		whole := b.subtree(member, flavor, resource, depth+1)
		total = sum(total, whole-member.local(flavor, resource, whole))
	}
	return total
}

// local is what is not lent (localQuota).
func (q *queue) local(flavor, resource string, whole int64) int64 {
	if lend := q.of(flavor, resource).lend; lend != nil {
		return max(0, whole-*lend)
	}
	return 0
}

// potential is the most that a queue can ever use of a resource of a flavor, when all others are idle (potentialAvailable).
func (b *book) potential(q *queue, flavor, resource string) int64 {
	return b.potentialAt(q, flavor, resource, 0)
}

func (b *book) potentialAt(q *queue, flavor, resource string, depth int) int64 {
	if known := q.potentials.of(flavor, resource); known != nil {
		return known.value
	}
	whole := b.subtree(q, flavor, resource, 0)
	value := whole
	if parent := b.cohorts[q.parent]; parent != nil && depth <= maxDepth {
		value = sum(q.local(flavor, resource, whole), b.potentialAt(parent, flavor, resource, depth+1))
		if borrow := q.of(flavor, resource).borrow; borrow != nil {
			value = min(value, sum(whole, *borrow))
		}
	}
	q.potentials = append(q.potentials, account{flavor, resource, value})
	return value
}

// matches says whether Kueue may charge a pod set to a flavor: labels, taints and topology (checkFlavorForPodSets). Only the labels
// that some flavor of the group has count.
func (b *book) matches(q *queue, g *group, set *podSet, f *flavor) bool {
	for _, wanted := range set.selector {
		if b.tellsApart(g, wanted.name) && !slices.Contains(f.labels, wanted) {
			return false
		}
	}
	for _, taint := range f.taints {
		if taint.effect != "PreferNoSchedule" && !slices.ContainsFunc(set.tolerated, func(t toleration) bool { return t.admits(taint) }) {
			return false
		}
	}
	return b.places(q, set, f)
}

func (b *book) tellsApart(g *group, key string) bool {
	for _, own := range g.flavors {
		f := b.flavors[own.name]
		if f != nil && slices.ContainsFunc(f.labels, func(l label) bool { return l.name == key }) {
			return true
		}
	}
	return false
}

// admits says whether a toleration is for a taint.
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

// places says whether the flavor suits the pod set's wish for a topology level, or its lack (checkPodSetAndFlavorMatchForTAS).
func (b *book) places(q *queue, set *podSet, f *flavor) bool {
	if set.level == "" {
		return f.topology == "" || q.topological(b.flavors)
	}
	levels := b.topologies[f.topology]
	return levels != nil && slices.Contains(levels.levels, set.level)
}

// refusal is why a queue never admits a job. The zero refusal means that it does.
type refusal struct {
	// uncovered is a resource that the queue does not count.
	uncovered string
	// unplaced is a pod set that no flavor takes.
	unplaced string
	// short is a resource of a flavor of which the job wants more than there can ever be.
	short        string
	flavor       string
	wanted, most int64
}

func (r refusal) admitted() bool { return r == refusal{} }

// code is the finding about a refusal.
func (r refusal) code() diag.Code {
	switch {
	case r.uncovered != "":
		return diag.NotCovered
	case r.unplaced != "":
		return diag.QueueUnreachable
	}
	return diag.DefaultJobDoesNotFit
}

// admits says whether a queue admits a job when nothing else runs: pod set after pod set, each to the first flavor that takes it
// and has room, as Kueue's scheduler does.
func (b *book) admits(q *queue, r *runtime, nodes int64) refusal {
	used := make(accounts, 0, 2*len(r.node.requests))
	if why := b.charge(q, &r.launcher, 1, &used); !why.admitted() {
		return why
	}
	if pods := r.nodePods(nodes); pods > 0 {
		return b.charge(q, &r.node, pods, &used)
	}
	return refusal{}
}

func (b *book) charge(q *queue, set *podSet, pods int64, used *accounts) refusal {
	var g *group
	for _, request := range set.requests {
		if request.value == 0 {
			continue
		}
		if g = q.covering(request.name); g == nil {
			return refusal{uncovered: request.name}
		}
	}
	if g == nil {
		return refusal{}
	}
	why := refusal{unplaced: set.name}
	for i := range g.flavors {
		f := b.flavors[g.flavors[i].name]
		if f == nil || !b.matches(q, g, set, f) {
			continue
		}
		short := b.room(q, f.name, set, pods, used)
		if short.admitted() {
			return refusal{}
		}
		if why.unplaced != "" || short.most > 0 {
			why = short
		}
	}
	return why
}

// room charges a pod set to a flavor if there can ever be enough of it.
func (b *book) room(q *queue, flavor string, set *podSet, pods int64, used *accounts) refusal {
	for _, request := range set.requests {
		wanted, most := times(request.value, pods), b.potential(q, flavor, request.name)
		if before := used.of(flavor, request.name); before != nil {
			wanted = sum(wanted, before.value)
		}
		if wanted > most {
			return refusal{short: request.name, flavor: flavor, wanted: wanted, most: most}
		}
	}
	for _, request := range set.requests {
		if before := used.of(flavor, request.name); before != nil {
			before.value = sum(before.value, times(request.value, pods))
			continue
		}
		*used = append(*used, account{flavor, request.name, times(request.value, pods)})
	}
	return refusal{}
}

// largest returns the largest job that a queue ever admits, between a number of nodes that it admits and one that it does not.
func (b *book) largest(q *queue, r *runtime, admitted, refused int64) int64 {
	for refused-admitted > 1 {
		if middle := (admitted + refused) / 2; b.admits(q, r, middle).admitted() {
			admitted = middle
		} else {
			refused = middle
		}
	}
	return admitted
}
