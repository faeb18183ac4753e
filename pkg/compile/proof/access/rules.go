package access

import "lockstep.dev/lockstep/pkg/compile/object"

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
