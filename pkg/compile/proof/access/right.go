package access

import (
	"cmp"
	"slices"
	"strings"
)

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
