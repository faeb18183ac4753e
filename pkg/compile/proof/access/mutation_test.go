package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// TestMutations breaks every value of every role and binding of the sample, and drops each as a whole: the proof must notice, or
// the mutation must be one of those that provably give nobody of a tenant anything.
func TestMutations(t *testing.T) {
	s := compiled(t, specs)
	if found, _ := prove(s, s.Objects); len(found) > 0 {
		t.Fatalf("%s: the sample is not what it promises: %s", found[0].Code, found[0].Message)
	}
	found, let := 0, map[string]int{}
	for i, o := range s.Objects {
		if o.ID.Group != "rbac.authorization.k8s.io" {
			continue
		}
		for _, m := range mutations(o) {
			objects := slices.Clone(s.Objects)
			objects[i] = m.object
			if m.object.Root.Kind == object.Nothing {
				objects = prooftest.WithoutObject(s.Objects, i)
			}
			said, _ := prove(s, objects)
			reason := harmless(o, m.name)
			switch {
			case len(said) > 0:
				found++
			case reason == "":
				t.Errorf("%s: nobody notices: %s", o.ID, m.name)
			default:
				let[reason]++
			}
		}
	}
	t.Logf("%d mutations were noticed; harmless: %v", found, let)
	if found < 400 {
		t.Errorf("only %d mutations", found)
	}
}

// Why a mutation gives nobody of a tenant anything.
const (
	declares = "what the chart of mpi-controller declares is what mpi-controller may do"
	narrower = "accounts have less: jobs or syncing would stop, nobody gets anything"
	applying = "the account that applies a tenant's objects ends at the tenant's namespaces; wildcards and ways to more rights are noticed"
	unbound  = "nobody is bound to the role by us, and it has nothing that is banned"
	standard = "the API server sets the group that is missing"
	same     = "people of another tenant read the catalog too"
	unread   = "nobody is bound to the role where nobody scrapes"
	nothing  = "only the core group of the API has Secrets"
)

// harmless says why a mutation need not be noticed, or "".
func harmless(o object.Object, name string) string {
	chart, applier := strings.HasPrefix(o.ID.Name, "mpi-controller"), isApplier(o)
	binding := strings.HasSuffix(o.ID.Kind, "Binding")
	worse := strings.Contains(name, "*") || strings.Contains(name, "secrets") || strings.Contains(name, "escalate")
	switch {
	case binding && strings.HasPrefix(name, "drop") && strings.HasSuffix(name, "apiGroup"):
		return standard
	case chart && (!binding || o.ID.Name == "mpi-controller"):
		return declares
	case (strings.HasPrefix(name, "drop") || strings.HasPrefix(name, "move") && chart) && (chart || applier || strings.HasPrefix(o.ID.Name, "lockstep-use-scc")):
		return narrower
	case applier && !binding && !worse:
		return applying
	case applier && !binding && !inCore(o, name):
		return nothing
	case strings.HasPrefix(o.ID.Name, "lockstep-aggregate-to") && !worse:
		return unbound
	case o.ID.Name == "mpi-metrics-reader":
		return unread
	case o.ID.Name == "lockstep-runtime-reader-vision" && name == "add the other tenant subjects" || o.ID.Name == "lockstep-runtime-reader-speech" && name == "add the other tenant subjects":
		return same
	}
	return ""
}

// inCore reports whether a mutation is anything but one that asks for Secrets of another group than the core one.
func inCore(o object.Object, name string) bool {
	var rule int
	if _, err := fmt.Sscanf(name, "replace by secrets rules %d", &rule); err != nil {
		return true
	}
	return o.Root.Get("rules").Children[rule].Get("apiGroups").Children[0].Text == ""
}

func isApplier(o object.Object) bool {
	return o.ID.Name == "lockstep-applier" || strings.HasPrefix(o.ID.Name, "lockstep-jobs") ||
		o.ID.Kind == "ClusterRole" && strings.HasPrefix(o.ID.Name, "lockstep-applier-")
}

type mutation struct {
	name   string
	object object.Object
}

// mutations returns the object changed in one place, once for each place and way.
func mutations(o object.Object) []mutation {
	all := []mutation{{"drop the object", object.Object{}}}
	if o.ID.Namespace != "" && strings.HasSuffix(o.ID.Kind, "Binding") {
		all = append(all, mutation{"move to another tenant", moved(o)}, mutation{"hold for the whole cluster", everywhere(o)})
	}
	for _, part := range []string{"rules", "roleRef", "subjects"} {
		target := o.Root.Get(part)
		if target == nil {
			continue
		}
		prooftest.VisitNodes(&object.Node{Children: []object.Node{*target}}, "", func(string, *object.Node) {})
		visitOf(o, part, func(path string, n *object.Node) {
			for _, change := range changes(part, path, n) {
				copied := o
				copied.Root = prooftest.ReplaceNode(o.Root, n, change.to)
				all = append(all, mutation{change.name + " " + path, copied})
			}
		})
	}
	return all
}

func visitOf(o object.Object, part string, do func(path string, n *object.Node)) {
	target := o.Root.Get(part)
	do(part, target)
	prooftest.VisitNodes(target, part, do)
}

func moved(o object.Object) object.Object {
	to := "speech"
	if o.ID.Namespace == to {
		to = "vision"
	}
	node := object.Text("namespace", to, nil)
	return object.New(prooftest.ReplaceNode(o.Root, o.Root.At("metadata", "namespace"), &node), o.Place, o.Rule)
}

func everywhere(o object.Object) object.Object {
	root := prooftest.ReplaceNode(o.Root, o.Root.At("metadata", "namespace"), nil)
	kind := object.Text("kind", "ClusterRoleBinding", nil)
	return object.New(prooftest.ReplaceNode(root, root.Get("kind"), &kind), o.Place, o.Rule)
}

type change struct {
	name string
	// to is nil where the node is dropped.
	to *object.Node
}

// changes returns what can be done to a node.
func changes(part, path string, n *object.Node) []change {
	all := []change{{"drop", nil}}
	replace := func(values ...string) {
		for _, value := range values {
			if value != n.Text {
				to := object.Text(n.Key, value, nil)
				all = append(all, change{"replace by " + value, &to})
			}
		}
	}
	last := path[strings.LastIndex(path, " ")+1:]
	switch {
	case part == "rules" && n.Kind == object.TextNode && strings.Contains(path, "verbs"):
		replace("*", "escalate")
	case part == "rules" && n.Kind == object.TextNode && strings.Contains(path, "resources"):
		replace("*", "secrets")
	case part == "rules" && n.Kind == object.TextNode && strings.Contains(path, "apiGroups"):
		replace("*")
	case part == "rules" && n.Kind == object.TextNode:
		replace("anything")
	case part == "rules" && n.Kind == object.ListNode && last != "rules" && last != "resourceNames":
		all = append(all, change{"add *", with(n, object.Text("", "*", nil))})
	case last == "rules":
		all = append(all, change{"add *", with(n, object.Map("",
			object.Texts("apiGroups", nil, "*"), object.Texts("resources", nil, "*"), object.Texts("verbs", nil, "*")))})
	case part == "roleRef" && last == "name":
		replace("cluster-admin", "edit", "unknown", "lockstep-tenant-admin", "mpi-controller-jobs")
	case last == "subjects":
		all = append(all,
			change{"add everybody", with(n, subject("Group", "system:authenticated", ""))},
			change{"add the other tenant", with(n, subject("Group", "vision-editors", ""), subject("Group", "speech-editors", ""))},
			change{"add a pod", with(n, subject("ServiceAccount", "default", "speech"), subject("ServiceAccount", "default", "vision"))},
			change{"add a stranger", with(n, subject("User", "mallory", ""))})
	case part == "subjects" && last == "name":
		replace("system:authenticated", "speech-editors-too")
	case part == "subjects" && last == "namespace":
		replace("elsewhere", "vision-batch", "speech")
	case part == "subjects" && last == "kind":
		replace("User")
	}
	return all
}

func with(n *object.Node, children ...object.Node) *object.Node {
	to := *n
	to.Children = append(slices.Clone(n.Children), children...)
	return &to
}

func subject(kind, name, namespace string) object.Node {
	s := object.Map("", object.Text("kind", kind, nil), object.Text("name", name, nil))
	if namespace != "" {
		s.Put(object.Text("namespace", namespace, nil))
	}
	return s
}
