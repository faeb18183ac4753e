package audit

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Grant is a role where a binding makes it hold.
type Grant struct {
	// Role names it in reports. A role that is bound in several namespaces is used where one of them uses it.
	Role string
	// Namespace is where it holds; empty is everywhere.
	Namespace string
	Rules     []rbacv1.PolicyRule
}

// Comparison is what differs between what was granted and what was asked for.
type Comparison struct {
	// Refused are requests that no role allowed, Unused are rights that no request used, both sorted.
	Refused, Unused []string
}

// Compare compares requests with all that their user was granted.
func Compare(entries []Entry, grants []Grant) Comparison {
	refused := map[string]bool{}
	for _, e := range entries {
		if e.refused() {
			refused[strings.TrimSpace(e.Right()+" "+e.ObjectRef.Namespace)] = true
		}
	}
	used := map[string]bool{}
	for _, g := range grants {
		for _, r := range g.rights() {
			used[r.String()] = used[r.String()] || slices.ContainsFunc(entries, r.allows)
		}
	}
	var unused []string
	for name, isUsed := range used {
		if !isUsed {
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	return Comparison{Refused: slices.Sorted(maps.Keys(refused)), Unused: unused}
}

// grantedRight is one right of a grant.
type grantedRight struct {
	Grant
	verb, resource, group string
	names                 []string
}

func (r grantedRight) String() string { return r.Role + ": " + right(r.verb, r.resource, r.group) }

// allows reports whether this is a right that a request needs. Informers watch, and list only where an API server does not
// stream lists.
func (r grantedRight) allows(e Entry) bool {
	return (e.Verb == r.verb || r.verb == "list" && e.Verb == "watch") && e.resource() == r.resource && e.ObjectRef.APIGroup == r.group &&
		(r.Namespace == "" || r.Namespace == e.ObjectRef.Namespace) && (len(r.names) == 0 || slices.Contains(r.names, e.ObjectRef.Name))
}

func (g Grant) rights() []grantedRight {
	var rights []grantedRight
	for _, rule := range g.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, grantedRight{g, verb, resource, group, rule.ResourceNames})
				}
			}
		}
	}
	return rights
}

// Rights are those of rules, as RBAC spells them.
func Rights(rules []rbacv1.PolicyRule) []string {
	var rights []string
	for _, r := range (Grant{Rules: rules}).rights() {
		rights = append(rights, right(r.verb, r.resource, r.group))
	}
	return rights
}
