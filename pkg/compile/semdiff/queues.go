package semdiff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// queues are what tenants and cohorts have on one side, by what they are called: `ClusterQueue vision`.
type queues map[string]*queue

// queue is a ClusterQueue, a Cohort or a ResourceQuota.
type queue struct {
	holder, cohort string
	amounts        map[quotaKey]Amounts
	// order are the flavors in their order, of all groups.
	order []string
	// rest is what is not an amount: whom it preempts, who may use it.
	preempts, selects string
	// covered are the resources of each group, those of one group sorted.
	covered []string
}

type quotaKey struct{ flavor, resource string }

func (q queues) read(o *object.Object) {
	switch {
	case o.ID.Kind == "ResourceQuota":
		q[called(o.ID)] = readHard(o)
	case o.ID.Group == "kueue.x-k8s.io":
		q[called(o.ID)] = readQueue(o)
	}
}

// take takes over what another state knows of an object.
func (q queues) take(id object.ID, from queues) {
	if known := from[called(id)]; known != nil {
		q[called(id)] = known
	}
}

func readHard(o *object.Object) *queue {
	q := &queue{holder: "namespace " + o.ID.Namespace, amounts: map[quotaKey]Amounts{}}
	if hard := o.Root.At("spec", "hard"); hard != nil {
		for i := range hard.Children {
			q.amounts[quotaKey{resource: hard.Children[i].Key}] = Amounts{Nominal: hard.Children[i].Text}
		}
	}
	return q
}

// readQueue reads a ClusterQueue or a Cohort. Their fields have other names in v1beta1 and v1beta2; all are read.
func readQueue(o *object.Object) *queue {
	spec := o.Root.Get("spec")
	q := &queue{holder: "tenant " + o.ID.Name, amounts: map[quotaKey]Amounts{}}
	if o.ID.Kind == "Cohort" {
		q.holder = "cohort " + o.ID.Name
	}
	if spec == nil {
		return q
	}
	for _, field := range []string{"cohort", "cohortName", "parent", "parentName"} {
		q.cohort = or(q.cohort, spec.Scalar(field))
	}
	q.preempts, q.selects = dump(spec.Get("preemption")), dump(spec.Get("namespaceSelector"))
	if groups := spec.Get("resourceGroups"); groups != nil {
		for i := range groups.Children {
			q.group(groups.Children[i].Get("flavors"))
			q.covered = append(q.covered, strings.Join(distinct(groups.Children[i].Get("coveredResources").Strings()), ","))
		}
	}
	return q
}

func dump(n *object.Node) string {
	var b strings.Builder
	if n != nil {
		write(&b, n)
	}
	return b.String()
}

func (q *queue) group(flavors *object.Node) {
	if flavors == nil {
		return
	}
	for i := range flavors.Children {
		flavor := &flavors.Children[i]
		name := flavor.Scalar("name")
		q.order = append(q.order, name)
		resources := flavor.Get("resources")
		for j := 0; resources != nil && j < len(resources.Children); j++ {
			r := &resources.Children[j]
			q.amounts[quotaKey{name, r.Scalar("name")}] = Amounts{r.Scalar("nominalQuota"), r.Scalar("borrowingLimit"), r.Scalar("lendingLimit")}
		}
	}
}

// equal says whether two queues give the same.
func (q *queue) equal(other *queue) bool {
	return q.cohort == other.cohort && slices.Equal(q.order, other.order) && slices.Equal(q.covered, other.covered) && q.preempts == other.preempts && q.selects == other.selects &&
		maps.EqualFunc(q.amounts, other.amounts, sameAmounts)
}

func sameAmounts(a, b Amounts) bool {
	eq := func(x, y string) bool { return x == y || sameAmount(x, y) }
	return eq(a.Nominal, b.Nominal) && eq(a.Borrowing, b.Borrowing) && eq(a.Lending, b.Lending)
}

// quotas are the amounts of all queues of both sides, sorted.
func (c *cluster) quotas() []Quota {
	var all []Quota
	for _, name := range distinct(slices.Concat(slices.Collect(maps.Keys(c.was.queues)), slices.Collect(maps.Keys(c.is.queues)))) {
		was, is := c.was.queues.get(name), c.is.queues.get(name)
		for _, key := range keysOf(was, is) {
			all = append(all, Quota{or(is.holder, was.holder), key.flavor, key.resource, was.amounts[key], is.amounts[key]})
		}
	}
	return all
}

// get returns a queue, or one that has nothing.
func (q queues) get(name string) *queue {
	if known := q[name]; known != nil {
		return known
	}
	return &queue{}
}

func keysOf(was, is *queue) []quotaKey {
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

// total is the nominal quota of a resource in a cohort, its own and that of its members.
func (q queues) total(cohort string, key quotaKey) string {
	sum := "0"
	for _, name := range slices.Sorted(maps.Keys(q)) {
		member := q[name]
		if member.cohort == cohort && strings.HasPrefix(name, "ClusterQueue ") || name == "Cohort "+cohort {
			sum = added(sum, member.amounts[key].Nominal)
		}
	}
	return sum
}

func added(x, y string) string {
	a, b, ok := amounts(x, or(y, "0"))
	if !ok {
		return x
	}
	a.Add(b)
	return a.String()
}

// members are the tenants in a cohort, but one, sorted.
func (q queues) members(cohort, but string) []string {
	var found []string
	for name, member := range q {
		if member.cohort == cohort && strings.HasPrefix(name, "ClusterQueue ") && name != but {
			found = append(found, strings.TrimPrefix(name, "ClusterQueue "))
		}
	}
	return distinct(found)
}
