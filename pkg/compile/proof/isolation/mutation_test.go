package isolation_test

import (
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// TestMutations breaks every value below the spec of every NetworkPolicy, and every policy and namespace as a whole, in every way
// that is known here: the proof must notice, or the mutation must be one of those that provably change nothing.
func TestMutations(t *testing.T) {
	s := prooftest.CompileSample(t, specs, nil)
	if found, _ := prove(s, s.Objects); len(found) > 0 {
		t.Fatalf("the sample is not isolated: %s", found[0].Message)
	}
	found, harmlessOnes := 0, map[string]int{}
	for i, o := range s.Objects {
		if o.ID.Kind != "NetworkPolicy" || s.Plan.ControllerNamespace.V == o.ID.Namespace {
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
			case len(said) > 0 && reason == "":
				found++
			case len(said) > 0:
				t.Errorf("%s: %s is noticed, but is said to be harmless: %s", o.ID, m.name, reason)
			case reason == "":
				t.Errorf("%s: nobody notices: %s", o.ID, m.name)
			default:
				harmlessOnes[reason]++
			}
		}
	}
	t.Logf("%d mutations were noticed; harmless: %v", found, harmlessOnes)
	if found < 300 {
		t.Errorf("only %d mutations", found)
	}
}

// harmless says why a mutation changes nothing, or "".
func harmless(o object.Object, name string) string {
	types := strings.Contains(name, "policyTypes")
	switch {
	case name == "drop podSelector":
		return "a missing selector is an empty one, which selects all pods"
	case o.ID.Name == "lockstep-default-deny" && strings.HasPrefix(o.ID.Namespace, "vision"):
		return "lockstep-dns and lockstep-ingress, which select all pods, close both directions too"
	case o.ID.Name == "lockstep-default-deny" && (name == "drop policyTypes" || name == "drop policyTypes 1"):
		return "lockstep-dns, which selects all pods, closes egress too"
	case o.ID.Name != "lockstep-default-deny" && types:
		return "a policy that opens closes what lockstep-default-deny closes anyway, and without types it is about what it has rules for"
	case strings.HasPrefix(name, "drop ") && strings.HasSuffix(name, "protocol") && strings.Contains(protocolAt(o, name), "TCP"):
		return "the protocol of a port without one is TCP"
	}
	return ""
}

// protocolAt returns the value that a mutation drops.
func protocolAt(o object.Object, name string) string {
	value := ""
	prooftest.VisitNodes(o.Root.Get("spec"), "", func(path string, n *object.Node) {
		if "drop "+path == name {
			value = n.Text
		}
	})
	return value
}

type mutation struct {
	name   string
	object object.Object
}

// mutations returns the object changed in one place, once for each place and way.
func mutations(o object.Object) []mutation {
	all := []mutation{
		{"drop the policy", object.Object{}},
		{"move to another namespace", moved(o, "elsewhere")},
	}
	prooftest.VisitNodes(o.Root.Get("spec"), "", func(path string, n *object.Node) {
		for _, change := range changes(path, n) {
			copied := o
			copied.Root = prooftest.ReplaceNode(o.Root, n, change.to)
			all = append(all, mutation{change.name + " " + path, copied})
		}
	})
	return all
}

func moved(o object.Object, namespace string) object.Object {
	o.Root = prooftest.ReplaceNode(o.Root, o.Root.At("metadata", "namespace"), &object.Node{Key: "namespace", Kind: object.TextNode, Text: namespace})
	return object.New(o.Root, o.Place, o.Rule)
}

type change struct {
	name string
	// to is nil where the node is dropped.
	to *object.Node
}

// changes returns what can be done to a node of a policy's spec.
func changes(path string, n *object.Node) []change {
	var all []change
	replace := func(name string, to object.Node) {
		to.Key = n.Key
		all = append(all, change{"replace by " + name, &to})
	}
	all = append(all, change{"drop", nil})
	last := path[strings.LastIndex(path, " ")+1:]
	switch {
	case strings.HasPrefix(path, "policyTypes"):
	case n.Kind == object.TextNode && last == "cidr":
		for _, cidr := range []string{"0.0.0.0/0", "::/0", "192.0.2.0/23", "192.0.2.0/25", "2001:db8::/47", "10.244.0.0/16", "169.254.169.254/32"} {
			replace(cidr, object.Text("", cidr, nil))
		}
	case n.Kind == object.TextNode && last == "protocol":
		for _, protocol := range protocolsBut(n.Text) {
			replace(protocol, object.Text("", protocol, nil))
		}
	case n.Kind == object.TextNode:
		for _, value := range []string{"speech", "vision", "anything"} {
			if value != n.Text {
				replace(value, object.Text("", value, nil))
			}
		}
	case n.Kind == object.NumberNode:
		replace("another port", object.Number("", 8080, nil))
		replace("a name", object.Text("", "http", nil))
	case n.Kind == object.MapNode && len(n.Children) > 0:
		replace("nothing", object.Map(""))
	}
	return append(all, additions(path, n)...)
}

func protocolsBut(own string) []string {
	return slices.DeleteFunc([]string{"TCP", "UDP", "SCTP"}, func(p string) bool { return p == own })
}

// additions returns what can be added to a node.
func additions(path string, n *object.Node) []change {
	var all []change
	add := func(name string, child object.Node) {
		to := *n
		to.Children = append(slices.Clone(n.Children), child)
		if n.Kind == object.MapNode {
			to = object.Map(n.Key, to.Children...)
		}
		all = append(all, change{"add " + name, &to})
	}
	selector := object.Map("podSelector", object.Map("matchLabels", object.Text("role", "server", nil)))
	last := path[strings.LastIndex(path, " ")+1:]
	switch {
	case path == "podSelector":
		add("a label", object.Map("matchLabels", object.Text("role", "server", nil)))
	case last == "egress" || last == "ingress":
		add("an empty rule", object.Map(""))
	case last == "to" || last == "from":
		add("all namespaces", object.Map("", object.Map("namespaceSelector")))
		add("all namespaces but with a label of pods", object.Map("", object.Map("namespaceSelector"), selector))
		add("all pods of the namespace", object.Map("", object.Map("podSelector")))
		add("a tenant", object.Map("", object.Map("namespaceSelector", object.Map("matchLabels", object.Text("lockstep.dev/tenant", "speech", nil)))))
		add("all but one namespace", object.Map("", object.Map("namespaceSelector", object.Map("", object.List("matchExpressions", object.Map("",
			object.Text("key", "kubernetes.io/metadata.name", nil), object.Text("operator", "NotIn", nil), object.Texts("values", nil, "kube-system")))).Named("namespaceSelector"))))
		add("a block", object.Map("", object.Map("ipBlock", object.Text("cidr", "198.51.100.0/24", nil))))
	case last == "ports":
		add("a port", object.Map("", object.Number("port", 22, nil)))
		add("a protocol", object.Map("", object.Text("protocol", "SCTP", nil)))
	case last == "ipBlock":
		add("an exception", object.Texts("except", nil, "192.0.2.0/28", "2001:db8:1:1::/64"))
	case strings.HasSuffix(path, "0") && strings.Contains(path, " ports ") && n.Get("port") != nil:
		add("an end", object.Number("endPort", 65535, nil))
	}
	return all
}

// TestNamespaceMutations breaks the labels of the tenants' namespaces: that which keeps pods off the network of their machine must be
// missed, the others decide about nothing here.
func TestNamespaceMutations(t *testing.T) {
	s := prooftest.CompileSample(t, specs, nil)
	tested := 0
	for i, o := range s.Objects {
		if o.ID.Kind != "Namespace" || o.ID.Name == s.Plan.ControllerNamespace.V {
			continue
		}
		labels := o.Root.At("metadata", "labels")
		privileged := object.Text("pod-security.kubernetes.io/enforce", "privileged", nil)
		for _, root := range []object.Node{
			{},
			prooftest.ReplaceNode(o.Root, labels, nil),
			prooftest.ReplaceNode(o.Root, labels.Get("pod-security.kubernetes.io/enforce"), nil),
			prooftest.ReplaceNode(o.Root, labels.Get("pod-security.kubernetes.io/enforce"), &privileged),
		} {
			objects := slices.Clone(s.Objects)
			objects[i] = object.New(root, o.Place, o.Rule)
			tested++
			if found, _ := prove(s, objects); len(found) != 1 || found[0].Code != "LS7020" {
				t.Errorf("%s: %d findings", o.ID, len(found))
			}
		}
	}
	if tested != 12 {
		t.Errorf("%d mutations", tested)
	}
}
