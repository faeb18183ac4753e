package rule

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// queues are what tenants and cohorts have in one state.
type queues map[object.ID]*queue

// queue is a ClusterQueue, a Cohort or a ResourceQuota.
type queue struct {
	id             object.ID
	holder, cohort string
	amounts        map[quotaKey]Amounts
	// order are the flavors in their order, of all groups.
	order []string
	// preempts and selects are what is not an amount: whom it preempts, who may use it.
	preempts, selects object.Node
	// covered are the resources of each group, those of one group sorted.
	covered []string
}

// Quota is how much of a resource a queue, a cohort or a namespace has, before and after, in the resource's unit.
type Quota struct {
	// Holder is `tenant vision`, `cohort research` or `namespace vision`; Flavor is the profile, "" for a ResourceQuota.
	Holder, Flavor, Resource string
	Before, After            Amounts
}

// Amounts are the numbers of one state of a Quota, as Kubernetes writes them. Empty is none.
type Amounts struct{ Nominal, Borrowing, Lending string }

type quotaKey struct{ flavor, resource string }

// readQueue reads a queue, nil where the object does not belong to Kueue or Kubernetes itself.
func readQueue(o *object.Object) *queue {
	switch {
	case o.ID.Kind == "ResourceQuota":
		return readResourceQuota(o)
	case o.ID.Group == "kueue.x-k8s.io":
		return readKueueObject(o)
	}
	return nil
}

func readResourceQuota(o *object.Object) *queue {
	q := &queue{id: o.ID, holder: "namespace " + o.ID.Namespace, amounts: map[quotaKey]Amounts{}}
	for amount := range o.Root.At("spec", "hard").Items() {
		q.amounts[quotaKey{resource: amount.Key}] = Amounts{Nominal: amount.Text}
	}
	return q
}

// readKueueObject reads a ClusterQueue or a Cohort. Their fields have other names in v1beta1 and v1beta2; all are read.
func readKueueObject(o *object.Object) *queue {
	spec := o.Root.Get("spec")
	q := &queue{id: o.ID, holder: "tenant " + o.ID.Name, amounts: map[quotaKey]Amounts{}}
	if o.ID.Kind == "Cohort" {
		q.holder = "cohort " + o.ID.Name
	}
	if spec == nil {
		return q
	}
	for _, field := range []string{"cohort", "cohortName", "parent", "parentName"} {
		q.cohort = cmp.Or(q.cohort, spec.Scalar(field))
	}
	q.preempts, q.selects = copyOf(spec.Get("preemption")), copyOf(spec.Get("namespaceSelector"))
	for part := range spec.Get("resourceGroups").Items() {
		q.readGroup(part.Get("flavors"))
		q.covered = append(q.covered, strings.Join(sortedDistinct(part.Get("coveredResources").Strings()), ","))
	}
	return q
}

// copyOf is a value that does not keep what is around it; nothing for nil.
func copyOf(n *object.Node) object.Node {
	if n == nil {
		return object.Node{}
	}
	return *n
}

func (q *queue) readGroup(flavors *object.Node) {
	for flavor := range flavors.Items() {
		name := flavor.Scalar("name")
		q.order = append(q.order, name)
		for r := range flavor.Get("resources").Items() {
			q.amounts[quotaKey{name, r.Scalar("name")}] = Amounts{r.Scalar("nominalQuota"), r.Scalar("borrowingLimit"), r.Scalar("lendingLimit")}
		}
	}
}

// equal reports whether two queues give the same.
func (q *queue) equal(other *queue) bool {
	return q.cohort == other.cohort && slices.Equal(q.order, other.order) && slices.Equal(q.covered, other.covered) && match.Equal(&q.preempts, &other.preempts) && match.Equal(&q.selects, &other.selects) &&
		maps.EqualFunc(q.amounts, other.amounts, sameAmounts)
}

func sameAmounts(a, b Amounts) bool {
	eq := func(x, y string) bool { return x == y || match.SameQuantity(x, y) }
	return eq(a.Nominal, b.Nominal) && eq(a.Borrowing, b.Borrowing) && eq(a.Lending, b.Lending)
}

// Quotas are the amounts of all queues of both states, sorted.
func (c *Cluster) Quotas() []Quota {
	var all []Quota
	both := maps.Clone(c.was.queues)
	maps.Copy(both, c.is.queues)
	for _, id := range both.sortedIDs() {
		was, is := c.was.queues.get(id), c.is.queues.get(id)
		for _, key := range quotaKeysOf(was, is) {
			all = append(all, Quota{cmp.Or(is.holder, was.holder), key.flavor, key.resource, was.amounts[key], is.amounts[key]})
		}
	}
	return all
}

// sortedIDs are the queues, sorted by kind, namespace and name.
func (q queues) sortedIDs() []object.ID {
	return slices.SortedFunc(maps.Keys(q), func(a, b object.ID) int { return strings.Compare(objectName(a), objectName(b)) })
}

// get returns a queue, or one that has nothing.
func (q queues) get(id object.ID) *queue {
	if known := q[id]; known != nil {
		return known
	}
	return &queue{}
}

func quotaKeysOf(was, is *queue) []quotaKey {
	keys := slices.Collect(maps.Keys(was.amounts))
	for key := range is.amounts {
		if _, known := was.amounts[key]; !known {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b quotaKey) int {
		return cmp.Or(strings.Compare(a.flavor, b.flavor), strings.Compare(a.resource, b.resource))
	})
	return keys
}

// cohortTotal is the nominal quota of a resource in a cohort, its own and that of its members.
func (q queues) cohortTotal(cohort string, key quotaKey) string {
	sum := "0"
	for _, id := range q.sortedIDs() {
		member := q[id]
		if member.cohort == cohort && id.Kind == "ClusterQueue" || id.Kind == "Cohort" && id.Name == cohort {
			sum = addAmounts(sum, member.amounts[key].Nominal)
		}
	}
	return sum
}

func addAmounts(x, y string) string {
	a, b, ok := match.ParseQuantities(x, cmp.Or(y, "0"))
	if !ok {
		return x
	}
	a.Add(b)
	return a.String()
}

// tenantsInCohort are the tenants in a cohort, but one, sorted.
func (q queues) tenantsInCohort(cohort string, but object.ID) []string {
	var found []string
	for _, id := range q.sortedIDs() {
		if q[id].cohort == cohort && id.Kind == "ClusterQueue" && id != but {
			found = append(found, id.Name)
		}
	}
	return found
}
