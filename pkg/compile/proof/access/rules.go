package access

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// Rule allows verbs on resources, or on paths of the API server
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#role-and-clusterrole).
type Rule struct {
	Verbs, Groups, Resources []string
	// Names are the only objects that the rule is about; none means all.
	Names []string
	// URLs are paths that are not resources; they count in bindings to the whole cluster only.
	URLs []string
}

// all stands for everything in a Rule.
const all = "*"

func readRules(n *object.Node) []Rule {
	if n == nil {
		return nil
	}
	rules := make([]Rule, len(n.Children))
	for i := range n.Children {
		r := &n.Children[i]
		rules[i] = Rule{
			Verbs: r.Get("verbs").Strings(), Groups: r.Get("apiGroups").Strings(), Resources: r.Get("resources").Strings(),
			Names: r.Get("resourceNames").Strings(), URLs: r.Get("nonResourceURLs").Strings(),
		}
	}
	return rules
}

// Question is one request that somebody may or may not make.
type Question struct {
	Verb, Group, Resource, Subresource string
	// Namespace is "" for the whole cluster, Name for all objects.
	Namespace, Name string
	// URL is a path that is not a resource; then only Verb counts beside it.
	URL string
}

// allows reports whether the rule allows a request, as the API server's RBAC authorizer does.
func (r *Rule) allows(q *Question) bool {
	if !containsOrAll(r.Verbs, q.Verb) {
		return false
	}
	if q.URL != "" {
		return slices.ContainsFunc(r.URLs, func(url string) bool {
			prefix, open := strings.CutSuffix(url, all)
			return url == q.URL || open && strings.HasPrefix(q.URL, prefix)
		})
	}
	return containsOrAll(r.Groups, q.Group) && r.isAbout(q.Resource, q.Subresource) &&
		(len(r.Names) == 0 || q.Name != "" && slices.Contains(r.Names, q.Name))
}

func containsOrAll(list []string, value string) bool {
	return slices.Contains(list, all) || slices.Contains(list, value)
}

// isAbout reports whether the rule is about a resource: `*` is all with their subresources, `*/scale` one subresource of all.
func (r *Rule) isAbout(resource, subresource string) bool {
	whole := resource
	if subresource != "" {
		whole += "/" + subresource
	}
	return slices.ContainsFunc(r.Resources, func(own string) bool {
		return own == all || own == whole || subresource != "" && own == all+"/"+subresource
	})
}
