package access_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// TestHoldings: rights add up over bindings, roles aggregate, and what is not known is everything.
func TestHoldings(t *testing.T) {
	var c access.Cluster
	for _, text := range []string{
		"kind: ClusterRole\nmetadata: {name: all-of-it}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {part: \"yes\"}}]}",
		"kind: ClusterRole\nmetadata: {name: part, labels: {part: \"yes\"}}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]",
		"kind: Role\nmetadata: {name: own, namespace: a}\nrules: [{apiGroups: [\"\"], resources: [pods, secrets], verbs: [list]}]",
		"kind: RoleBinding\nmetadata: {name: one, namespace: a}\nroleRef: {kind: ClusterRole, name: all-of-it}\nsubjects: [{kind: Group, name: g}]",
		"kind: RoleBinding\nmetadata: {name: two, namespace: a}\nroleRef: {kind: Role, name: own}\nsubjects: [{kind: Group, name: g}]",
		"kind: ClusterRoleBinding\nmetadata: {name: three}\nroleRef: {kind: ClusterRole, name: nobody-knows}\nsubjects: [{kind: User, name: u}]",
	} {
		var content map[string]any
		if err := sigsyaml.Unmarshal([]byte("apiVersion: rbac.authorization.k8s.io/v1\n"+text), &content); err != nil {
			t.Fatal(err)
		}
		c.Add(access.Of([]object.Object{object.New(object.FromValue("", content, nil), object.Place{}, nil)}))
	}
	got := map[string][]string{}
	for _, h := range c.Holdings() {
		for _, r := range h.Rights {
			got[h.Namespace+" "+h.Subject.String()] = append(got[h.Namespace+" "+h.Subject.String()], r.String())
		}
	}
	want := map[string][]string{
		"a Group g": {"get pods", "list pods", "list secrets"},
		" User u":   {"* " + access.Unknown + " nobody-knows"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBeyond: a right that a wider one covers is not gained.
func TestBeyond(t *testing.T) {
	wide := []access.Right{{Verb: "*", Group: "*", Resource: "*"}}
	narrow := []access.Right{{Verb: "get", Resource: "pods"}, {Verb: "get", Resource: "pods", Name: "one"}}
	if got := access.Beyond(narrow, wide); len(got) > 0 {
		t.Errorf("%v is beyond everything", got)
	}
	if diff := cmp.Diff(wide, access.Beyond(wide, narrow)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGrave: which rights break boundaries.
func TestGrave(t *testing.T) {
	for right, want := range map[access.Right]bool{
		{Verb: "*", Group: "*", Resource: "*"}:                                                     true,
		{Verb: "get", Resource: "secrets"}:                                                         true,
		{Verb: "get", Resource: "*"}:                                                               true,
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:             true,
		{Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:               true,
		{Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "view"}: false,
		{Verb: "patch", Group: "networking.k8s.io", Resource: "networkpolicies"}:                   true,
		{Verb: "get", Group: "networking.k8s.io", Resource: "networkpolicies"}:                     false,
		{Verb: "create", Group: "trainer.kubeflow.org", Resource: "trainjobs"}:                     false,
		{Verb: "*", Resource: access.Unknown, Name: "x"}:                                           true,
	} {
		if got := right.Grave() != ""; got != want {
			t.Errorf("%s is grave: %v, want %v", right, got, want)
		}
	}
}

// TestAgain: what is added to one of two clusters that share facts does not change what people may do on the other.
func TestAgain(t *testing.T) {
	of := func(text string) access.Facts {
		var content map[string]any
		if err := sigsyaml.Unmarshal([]byte("apiVersion: rbac.authorization.k8s.io/v1\n"+text), &content); err != nil {
			t.Fatal(err)
		}
		return access.Of([]object.Object{object.New(object.FromValue("", content, nil), object.Place{}, nil)})
	}
	all := of("kind: ClusterRole\nmetadata: {name: all-of-it}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {part: \"yes\"}}]}")
	bound := of("kind: RoleBinding\nmetadata: {name: one, namespace: a}\nroleRef: {kind: ClusterRole, name: all-of-it}\nsubjects: [{kind: Group, name: g}]")
	part := of("kind: ClusterRole\nmetadata: {name: part, labels: {part: \"yes\"}}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]")
	var with, without access.Cluster
	for _, f := range []access.Facts{part, all, bound} {
		with.Add(f)
	}
	for _, f := range []access.Facts{all.Again(), bound.Again()} {
		without.Add(f)
	}
	if got, other := with.Holdings(), without.Holdings(); len(got) != 1 || len(got[0].Rights) != 1 || len(other) != 1 || len(other[0].Rights) != 0 {
		t.Errorf("with the part: %v, without: %v", got, other)
	}
}
