package isolation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
)

// TestDifference: what is opened and closed is the difference of the sets of flows, not of the texts.
func TestDifference(t *testing.T) {
	spec := func(rules string) string { return `{podSelector: {}, policyTypes: [Egress], egress: [` + rules + `]}` }
	for name, test := range map[string]struct {
		reason, before, after string
		opened, closed        []string
	}{
		"Same": {
			reason: "two halves are the whole",
			before: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}`), after: spec(`{to: [{ipBlock: {cidr: 10.128.0.0/9}}]}, {to: [{ipBlock: {cidr: 10.0.0.0/9}}]}`),
		},
		"Wider": {
			reason: "only what was not open before is opened",
			before: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/9}}]}`), after: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}`),
			opened: []string{"all ports at 10.128.0.0/9"},
		},
		"Narrower": {
			reason: "an exception closes",
			before: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}`), after: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}`),
			closed: []string{"all ports at 10.1.0.0/16"},
		},
		"Ports": {
			reason: "a range of ports less one",
			before: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80, endPort: 90}]}`),
			after:  spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80, endPort: 84}, {port: 86, endPort: 90}, {port: 53, protocol: UDP}]}`),
			opened: []string{"UDP 53 at 10.0.0.0/8"}, closed: []string{"TCP 85 at 10.0.0.0/8"},
		},
		"Everything": {
			reason: "all ports to all addresses are more than some to some",
			before: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80}]}`), after: spec(`{to: [{ipBlock: {cidr: 0.0.0.0/0}}]}`),
			opened: []string{"all ports at 0.0.0.0/0"},
		},
		"Selector": {
			reason: "a selector that loses its label selects all, and what it selected stays open",
			before: spec(`{to: [{namespaceSelector: {matchLabels: {a: b}}}]}`), after: spec(`{to: [{namespaceSelector: {}}]}`),
			opened: []string{"all ports at all pods of all namespaces"},
		},
		"Own": {
			reason: "pods of the namespace itself are other pods than those of another one",
			before: spec(`{to: [{podSelector: {}}]}`), after: spec(`{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}]}`),
			opened: []string{"all ports at all pods in namespace other"}, closed: []string{"all ports at all pods of the namespace itself"},
		},
		"Union": {
			reason: "two selectors together are a third one",
			before: spec(`{to: [{namespaceSelector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}}]}`),
			after:  spec(`{to: [{namespaceSelector: {matchLabels: {a: b}}}, {namespaceSelector: {matchLabels: {a: c}}}]}`),
		},
		"FewerPods": {
			reason: "pods that a policy no longer selects are open to everything, and nothing is closed for any",
			before: spec(`{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}`),
			after:  `{podSelector: {matchLabels: {app: x}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}`,
			opened: []string{
				"all ports at all pods of all namespaces, for pods with app notin (x)",
				"all ports at 0.0.0.0 to 9.255.255.255, for pods with app notin (x)", "all ports at 11.0.0.0 to 255.255.255.255, for pods with app notin (x)", "all ports at ::/0, for pods with app notin (x)",
			},
		},
		"Unclosed": {
			reason: "without a policy everything is open, in both directions",
			before: `{podSelector: {}, policyTypes: [Ingress, Egress]}`, after: "",
			opened: []string{
				"all ports at all pods of all namespaces", "all ports at 0.0.0.0/0", "all ports at ::/0",
				"all ports at all pods of all namespaces", "all ports at 0.0.0.0/0", "all ports at ::/0",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			opened, closed := isolation.Difference(state(t, test.before), state(t, test.after), "team")
			if diff := cmp.Diff([][]string{test.opened, test.closed}, [][]string{names(opened), names(closed)}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestForeignNamespace: a namespace that nobody compiles is there on both sides, so that its first policy closes, and its last one opens.
func TestForeignNamespace(t *testing.T) {
	none, closing := &isolation.Cluster{}, &isolation.Cluster{}
	closing.Add(isolation.FactsOf([]object.Object{parsed(t, policyOf(`{podSelector: {}, policyTypes: [Egress]}`))}))
	opened, closed := isolation.Difference(none, closing, "team")
	if len(opened) > 0 || len(closed) != 3 {
		t.Errorf("the first policy opens %d flows and closes %d", len(opened), len(closed))
	}
	if opened, closed = isolation.Difference(closing, none, "team"); len(opened) != 3 || len(closed) > 0 {
		t.Errorf("without its last policy %d flows are opened and %d closed", len(opened), len(closed))
	}
}

// TestSelected: a selector at the other end of what opens is asked which namespaces have its labels; a name is none.
func TestSelected(t *testing.T) {
	for selector, want := range map[string][]string{
		`{matchLabels: {owner: a}}`:                                        {"one", "two"},
		`{matchExpressions: [{key: owner, operator: Exists}]}`:             {"one", "three", "two"},
		`{matchExpressions: [{key: owner, operator: NotIn, values: [a]}]}`: {"team", "three"},
		`{matchLabels: {owner: nobody}}`:                                   nil,
		`{matchLabels: {kubernetes.io/metadata.name: one}}`:                nil,
	} {
		after := state(t, `{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: `+selector+`}]}]}`)
		var others []object.Object
		for name, owner := range map[string]string{"two": "a", "one": "a", "three": "b"} {
			others = append(others, parsed(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+", labels: {owner: "+owner+"}}"))
		}
		after.Add(isolation.FactsOf(others))
		opened, _ := isolation.Difference(state(t, `{podSelector: {}, policyTypes: [Ingress]}`), after, "team")
		if len(opened) != 1 {
			t.Fatalf("%s opens %d flows", selector, len(opened))
		}
		if diff := cmp.Diff(want, after.SelectedNamespaces("team", opened[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", selector, diff)
		}
	}
}

// TestInternet: what counts as the internet.
func TestInternet(t *testing.T) {
	for cidr, want := range map[string][2]bool{
		"0.0.0.0/0": {true, true}, "::/0": {true, true}, "10.0.0.0/8": {false, false}, "8.8.8.0/24": {false, true}, "128.0.0.0/1": {true, true},
		"192.168.0.0/16": {false, false}, "fd00::/8": {false, false}, "2000::/3": {true, true}, "2a00:1450::/32": {false, true},
	} {
		opened, _ := isolation.Difference(state(t, `{podSelector: {}, policyTypes: [Egress]}`),
			state(t, `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: "`+cidr+`"}}]}]}`), "team")
		if len(opened) != 1 || opened[0].IsInternet() != want[0] || opened[0].HasPublicAddress() != want[1] {
			t.Errorf("%s: %v, want one flow that is the internet: %v, and public: %v", cidr, opened, want[0], want[1])
		}
	}
}

// state is a cluster with the namespace `team` and perhaps one policy.
func state(t *testing.T, spec string) *isolation.Cluster {
	t.Helper()
	objects := []object.Object{parsed(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}")}
	if spec != "" {
		objects = append(objects, parsed(t, policyOf(spec)))
	}
	c := &isolation.Cluster{}
	c.Add(isolation.FactsOf(objects))
	return c
}

func policyOf(spec string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p, namespace: team}\nspec: " + spec
}

func parsed(t *testing.T, text string) object.Object {
	t.Helper()
	var content map[string]any
	if err := sigsyaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return object.New(object.FromValue("", content, nil), object.Place{}, nil)
}

func names(flows []isolation.Opening) []string {
	var list []string
	for i := range flows {
		list = append(list, flows[i].String())
	}
	return list
}
