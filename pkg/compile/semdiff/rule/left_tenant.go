package rule

import (
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// leftKinds are kinds that may stay when a tenant goes, the most important last.
var leftKinds = []string{
	"NetworkPolicy", "ResourceQuota", "LocalQueue", "ClusterQueue", "PersistentVolumeClaim", "Namespace",
	"ClusterRoleBinding", "RoleBinding",
}

// leftOf is the former tenant of an object that stays on a cluster without a tenant of this name; "" for other changes.
func (c *Cluster) leftOf(change *match.Change) string {
	if !change.Whole() || change.Before == nil || change.Disposal.WithCluster || !c.staysOnCluster(change.Before) {
		return ""
	}
	tenant := c.tenantOf(change.Before)
	if !c.was.tenants[tenant] || c.is.tenants[tenant] || c.is.namespaces[change.Before.ID.Namespace] != nil {
		return ""
	}
	return tenant
}

// tenantsLeftBehind returns an effect for each tenant that goes, or has another name, while some of its objects stay.
func (c *Cluster) tenantsLeftBehind() []Effect {
	var effects []Effect
	for _, tenant := range slices.Sorted(maps.Keys(c.left)) {
		effects = append(effects, c.tenantLeftBehind(tenant, c.left[tenant]))
	}
	return effects
}

func (c *Cluster) tenantLeftBehind(tenant string, part []*match.Change) Effect {
	rank := func(change *match.Change) int { return -slices.Index(leftKinds, change.Kind()) }
	slices.SortStableFunc(part, func(a, b *match.Change) int { return rank(a) - rank(b) })
	what, clause, but := "a tenant is removed", Clause{Verb: "are", Rest: "removed"}, " without "
	renamed := c.renamedTenants[tenant]
	switch {
	case renamed != "":
		what, clause, but = "a tenant has another name", Clause{Of: tenant, Verb: "are", Rest: "renamed to " + renamed}, ", leaving "
	case len(c.allClusters.after[tenant]) > 0:
		what, clause = "a tenant leaves a cluster", Clause{Verb: "leave", Rest: "cluster " + c.Name}
	}
	but += Plural(len(part), "object") + " on cluster " + c.Name
	if does := c.whatStays(part); len(does) > 0 {
		but += ": " + strings.Join(does, ", ")
	}
	e := c.effect(part, LeavesObjects, Warning, what+but).withDetail(namesByKind(part)).
		withClauseOf(clause.Of, clause.Verb, clause.Rest+but)
	e.Subject, e.Aspect = Subject{Cluster: c.Name, Tenant: tenant}, "left"
	if !c.appliedByHand() {
		e.Jobs = JobsHampered
	}
	var spaces []string
	for _, change := range part {
		if change.Kind() == "Namespace" {
			spaces = append(spaces, change.Before.ID.Name)
		}
	}
	if len(spaces) > 0 {
		e.Help = "delete unneeded objects by hand; a namespace takes its jobs and the data of its volumes along: " +
			"kubectl delete namespace " + strings.Join(spaces, " ")
	}
	if renamed != "" && e.Help != "" {
		e.Help = "copy what is needed to the new namespaces; " + e.Help
	}
	return e
}

// whatStays lists the work of objects that stay, the most severe first.
func (c *Cluster) whatStays(part []*match.Change) []string {
	open := c.LeftNamespaces()
	var found []string
	for _, change := range part {
		does := map[string]string{
			"Namespace":             "namespaces stay",
			"PersistentVolumeClaim": "data stays",
			"ClusterQueue":          "quota stays taken",
		}[change.Kind()]
		switch o := change.Before; {
		case o.ID.Kind == "PersistentVolumeClaim" && change.Renamed():
			does = "data stays in the old volumes, and the new ones are empty"
		case strings.HasSuffix(o.ID.Kind, "RoleBinding") && bindsPeople(o):
			does = "people keep their rights"
		case isPolicy(change) && slices.Contains(open, o.ID.Namespace):
			does = "traffic stays as it was"
		}
		if does != "" && !slices.Contains(found, does) {
			found = append(found, does)
		}
	}
	return found
}

// bindsPeople reports whether a binding names a person or a group.
func bindsPeople(o *object.Object) bool {
	return slices.ContainsFunc(slices.Collect(o.Root.Get("subjects").Items()), func(s *object.Node) bool {
		return s.Scalar("kind") != "ServiceAccount"
	})
}

// namesByKind names the objects of changes. Objects of one kind and name in several namespaces are one item.
func namesByKind(part []*match.Change) string {
	var names []string
	nameOf := func(change *match.Change) string { return change.Kind() + " " + change.Before.ID.Name }
	for _, same := range match.GroupBy(part, nameOf) {
		var in []string
		for _, change := range same {
			in = append(in, change.Before.ID.Namespace)
		}
		names = append(names, strings.TrimSuffix(nameOf(same[0])+" in "+severalText(sortedDistinct(in)), " in "))
	}
	return strings.Join(names, "; ")
}

// LeftNamespaces returns the namespaces that are no longer compiled and stay with all their network policies, sorted.
func (c *Cluster) LeftNamespaces() []string {
	stays, gone := map[string]bool{}, slices.Concat(c.removed, c.renamed)
	for _, change := range gone {
		if change.Kind() == "Namespace" && !change.Disposal.WithCluster && c.staysOnCluster(change.Before) {
			stays[change.Before.ID.Name] = true
		}
	}
	for _, change := range gone {
		if isPolicy(change) && !c.staysOnCluster(change.Before) {
			delete(stays, change.Before.ID.Namespace)
		}
	}
	return slices.Sorted(maps.Keys(stays))
}
