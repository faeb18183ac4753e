package check

import (
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// groupsNotMisspelled warns of groups whose names differ by a missing letter: one of them is nobody's, or somebody else's.
func groupsNotMisspelled(c *plan.Cluster, list *diag.List) {
	first := map[string]*plan.Value[plan.Subject]{}
	for _, t := range c.Tenants {
		for _, group := range t.GroupsOfRoles() {
			if first[group.V.Name] == nil {
				first[group.V.Name] = group
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		shorter := findWithoutOneLetter(name, func(shorter []byte) bool { return first[string(shorter)] != nil })
		if shorter == "" {
			continue
		}
		list.Warnf(diag.NameSlips, first[shorter].At, "the group `%s` differs by one letter from `%s`", shorter, name).
			Also(first[name].At, "the other one").Helpf("write both alike; where there are two such groups, accept it with a waiver")
	}
}

// findWithoutOneLetter returns the first name that is there of those which a name becomes by losing one letter, or nothing. A digit is
// no letter: people number their groups.
func findWithoutOneLetter(name string, isThere func(shorter []byte) bool) string {
	shorter := []byte(name[min(1, len(name)):]) // lacks the letter at i; one buffer, because a cluster has thousands of names
	for i := range len(name) {
		if i > 0 {
			shorter[i-1] = name[i-1]
		}
		if lost := name[i]; (lost < '0' || lost > '9') && isThere(shorter) {
			return string(shorter)
		}
	}
	return ""
}

// standardNamespaces are those that clusters have by Kubernetes, by engines and by monitoring.
var standardNamespaces = []string{
	"kube-system", "flux-system", "argocd", "monitoring", "openshift-gitops", "openshift-dns", plan.PlatformMonitoring, plan.ProjectMonitoring,
}

// namespacesNotMisspelled warns of namespaces of others whose names differ by one letter from one that the cluster has: nobody is there.
func namespacesNotMisspelled(c *plan.Cluster, list *diag.List) {
	var named []plan.Value[string]
	if c.Monitoring != nil {
		named = append(named, c.Monitoring.Namespace)
	}
	if c.GitOps != nil {
		named = append(named, c.GitOps.Namespace)
	}
	named = append(named, c.DNS.Namespace)
	for i := range c.Services {
		named = append(named, c.Services[i].Namespace)
	}
	has := slices.Clone(standardNamespaces)
	for _, n := range c.PlatformNamespaces() {
		has = append(has, n.V)
	}
	for _, t := range c.Tenants {
		for _, n := range t.Namespaces {
			has = append(has, n.V)
		}
	}
	for i := range named {
		reportNearMiss(&named[i], has, list)
	}
	for i := range named {
		has = append(has, named[i].V)
	}
	for _, t := range c.Tenants {
		for _, name := range t.NamedNamespaces() {
			if name.Kind == origin.Written && name.V != "" {
				reportNearMiss(name, has, list)
			}
		}
	}
}

func reportNearMiss(name *plan.Value[string], has []string, list *diag.List) {
	if slices.Contains(has, name.V) {
		return
	}
	if meant, found := diag.NearMiss(name.V, has); found {
		list.Warnf(diag.NameSlips, name.At, "the namespace `%s` differs by one letter from `%s`, and nothing makes it here", name.V, meant).
			Helpf("write `%s`, or accept it with a waiver where there is a `%s`", meant, name.V)
	}
}
