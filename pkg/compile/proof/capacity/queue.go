package capacity

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// queue is a ClusterQueue or a Cohort: a node in a tree of quotas.
type queue struct {
	name string
	// cohort says that it is a Cohort; parent is the cohort above, or "".
	cohort     bool
	parent     string
	parentFrom *origin.Origin
	groups     []resourceGroup
	// Of a ClusterQueue only. namespaces are those that its selector admits; everywhere says that it admits others too.
	namespaces      []string
	everywhere      bool
	reclaim, within string
	preemption      *origin.Origin
	at, patch       source.Span
	// potentials are those that were asked for.
	potentials flavorQuantities
}

// resourceGroup is a resource group: resources that a pod set gets from one flavor.
type resourceGroup struct {
	covered []string
	flavors []flavorQuota
}

// flavorQuota is what a queue holds of one flavor.
type flavorQuota struct {
	name      string
	resources []resourceQuota
	from      *origin.Origin
}

// resourceQuota is what a queue holds of one resource of a flavor. borrow and lend are nil for no bound.
type resourceQuota struct {
	name         string
	nominal      int64
	borrow, lend *int64
	from         *origin.Origin
	// borrowFrom and lendFrom say where the bounds come from.
	borrowFrom, lendFrom *origin.Origin
}

// flavor is a ResourceFlavor.
type flavor struct {
	name, topology string
	labels         []label
	taints         []toleration
	at, patch      source.Span
}

func queueOf(o *object.Object, r objectReader) queue {
	spec := r.at("spec")
	q := queue{name: o.ID.Name, cohort: o.ID.Kind == "Cohort", at: r.at("metadata", "name").span(), patch: o.PatchSpan(o.Root.Get("spec"))}
	for _, key := range []string{"cohortName", "cohort", "parentName"} {
		if parent := spec.at(key); parent.node != nil {
			q.parent, q.parentFrom = parent.node.Text, parent.from
		}
	}
	q.readSelector(spec.at("namespaceSelector"))
	preemption := spec.at("preemption")
	q.reclaim, q.within, q.preemption = preemption.text("reclaimWithinCohort"), preemption.text("withinClusterQueue"), preemption.from
	for _, item := range spec.at("resourceGroups").items() {
		q.groups = append(q.groups, resourceGroupOf(item))
	}
	return q
}

// readSelector reads a namespace selector: names, or anything else, which may admit any namespace.
func (q *queue) readSelector(selector objectReader) {
	if selector.node == nil {
		return
	}
	expressions := selector.at("matchExpressions").items()
	if len(expressions) != 1 || expressions[0].text("key") != "kubernetes.io/metadata.name" || expressions[0].text("operator") != "In" {
		q.everywhere = true
		return
	}
	for _, value := range expressions[0].at("values").items() {
		q.namespaces = append(q.namespaces, value.node.Text)
	}
}

func resourceGroupOf(r objectReader) resourceGroup {
	var g resourceGroup
	for _, item := range r.at("coveredResources").items() {
		g.covered = append(g.covered, item.node.Text)
	}
	for _, item := range r.at("flavors").items() {
		f := flavorQuota{name: item.text("name"), from: item.at("name").from, resources: make([]resourceQuota, 0, len(g.covered))}
		for _, own := range item.at("resources").items() {
			f.resources = append(f.resources, resourceQuotaOf(own))
		}
		g.flavors = append(g.flavors, f)
	}
	return g
}

func resourceQuotaOf(r objectReader) resourceQuota {
	name := r.text("name")
	h := resourceQuota{name: name, nominal: parseAmount(name, r.text("nominalQuota")), from: r.at("nominalQuota").from}
	h.borrow, h.borrowFrom = boundOf(name, r.at("borrowingLimit"))
	h.lend, h.lendFrom = boundOf(name, r.at("lendingLimit"))
	return h
}

func boundOf(name string, limit objectReader) (*int64, *origin.Origin) {
	if limit.node == nil {
		return nil, nil
	}
	value := parseAmount(name, limit.node.Text)
	return &value, limit.from
}

func flavorOf(o *object.Object, r objectReader) flavor {
	f := flavor{name: o.ID.Name, patch: o.PatchSpan(o.Root.Get("spec")), topology: r.text("spec", "topologyName"), at: r.at("metadata", "name").span()}
	for _, item := range r.at("spec", "nodeLabels").items() {
		f.labels = append(f.labels, label{item.node.Key, item.node.Text})
	}
	for _, item := range r.at("spec", "nodeTaints").items() {
		f.taints = append(f.taints, toleration{key: item.text("key"), value: item.text("value"), effect: item.text("effect")})
	}
	return f
}

// flavor returns what the queue holds of a flavor, or nil.
func (q *queue) flavor(name string) *flavorQuota {
	for g := range q.groups {
		for f := range q.groups[g].flavors {
			if q.groups[g].flavors[f].name == name {
				return &q.groups[g].flavors[f]
			}
		}
	}
	return nil
}

// quotaOf returns what the queue holds of a resource of a flavor.
func (q *queue) quotaOf(flavor, name string) resourceQuota {
	if f := q.flavor(flavor); f != nil {
		for _, h := range f.resources {
			if h.name == name {
				return h
			}
		}
	}
	return resourceQuota{}
}

// groupCovering returns the group that covers a resource, or nil.
func (q *queue) groupCovering(name string) *resourceGroup {
	for g := range q.groups {
		if slices.Contains(q.groups[g].covered, name) {
			return &q.groups[g]
		}
	}
	return nil
}

// allFlavorsHaveTopology reports whether all flavors of the queue have a topology: then Kueue places every pod, wish or not.
func (q *queue) allFlavorsHaveTopology(flavors map[string]*flavor) bool {
	for _, g := range q.groups {
		for _, f := range g.flavors {
			if known := flavors[f.name]; known == nil || known.topology == "" {
				return false
			}
		}
	}
	return true
}
