package access

import (
	"cmp"
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

// Right is one thing that a Rule allows: a verb on one resource, with `*` where it is all.
type Right struct {
	Verb, Group, Resource string
	// Name is "" for all objects.
	Name string
}

// String returns for example `create trainjobs.trainer.kubeflow.org`, or `get /metrics`.
func (r Right) String() string {
	s := r.Verb + " " + r.Resource
	if r.Group != "" && r.Group != Path {
		s += "." + r.Group
	}
	if r.Name != "" {
		s += " " + r.Name
	}
	return s
}

// rightsOfRules returns what rules allow, one by one, sorted, each once.
func rightsOfRules(rules []Rule) []Right {
	count := 0
	for i := range rules {
		r := &rules[i]
		count += len(r.Verbs) * (len(r.URLs) + len(r.Groups)*len(r.Resources)*max(1, len(r.Names)))
	}
	list := make([]Right, 0, count)
	for i := range rules {
		list = rules[i].appendRights(list)
	}
	slices.SortFunc(list, compareRights)
	return slices.Compact(list)
}

func compareRights(a, b Right) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource), strings.Compare(a.Verb, b.Verb), strings.Compare(a.Name, b.Name))
}

// Path is the Group of rights on paths of the API server, which are not resources: their Resource is the path.
const Path = "(path)"

// everyName stands for all objects.
var everyName = []string{""}

func (r *Rule) appendRights(list []Right) []Right {
	names := r.Names
	if len(names) == 0 {
		names = everyName
	}
	for _, verb := range r.Verbs {
		for _, url := range r.URLs {
			list = append(list, Right{Verb: verb, Group: Path, Resource: url})
		}
		for _, group := range r.Groups {
			for _, resource := range r.Resources {
				for _, name := range names {
					list = append(list, Right{verb, group, resource, name})
				}
			}
		}
	}
	return list
}

// covers reports whether a right is a part of another one.
func (r Right) covers(other Right) bool {
	return (r.Verb == all || r.Verb == other.Verb) && (r.Group == all || r.Group == other.Group) &&
		(r.Name == "" || r.Name == other.Name) && coversResource(r.Resource, other.Resource)
}

func coversResource(own, other string) bool {
	if own == all || own == other {
		return true
	}
	sub, any := strings.CutPrefix(own, "*/")
	return any && strings.HasSuffix(other, "/"+sub)
}

// overlaps reports whether two rights have something in common.
func (r Right) overlaps(other Right) bool {
	same := func(a, b string) bool { return a == b || a == all || b == all }
	return same(r.Verb, other.Verb) && same(r.Group, other.Group) && (r.Name == other.Name || r.Name == "" || other.Name == "") &&
		(coversResource(r.Resource, other.Resource) || coversResource(other.Resource, r.Resource))
}
