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
		c.Add(access.FactsOf([]object.Object{object.New(object.FromValue("", content, nil), object.Place{}, nil)}))
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
	if got := access.RightsBeyond(narrow, wide); len(got) > 0 {
		t.Errorf("%v is beyond everything", got)
	}
	if diff := cmp.Diff(wide, access.RightsBeyond(wide, narrow)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGrave: which rights break boundaries.
func TestGrave(t *testing.T) {
	const rbac, admission, scc = "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "security.openshift.io"
	for name, c := range map[string]struct {
		reason string
		right  access.Right
		want   bool
	}{
		"everything":             {"cluster-admin", access.Right{Verb: "*", Group: "*", Resource: "*"}, true},
		"everything of a group":  {"whatever comes to the group, too", access.Right{Verb: "*", Group: "apps", Resource: "*"}, true},
		"every path":             {"metrics, profiles and the like are no objects", access.Right{Verb: "*", Group: access.Path, Resource: "*"}, false},
		"unknown":                {"it may be everything", access.Right{Verb: "*", Resource: access.Unknown, Name: "x"}, true},
		"secrets":                {"keys of jobs", access.Right{Verb: "get", Resource: "secrets"}, true},
		"one secret":             {"it may be the key of a job", access.Right{Verb: "get", Resource: "secrets", Name: "x"}, true},
		"secrets of others":      {"another group is another kind", access.Right{Verb: "get", Group: "example.org", Resource: "secrets"}, false},
		"all resources":          {"Secrets are among them", access.Right{Verb: "get", Resource: "*"}, true},
		"all resources, apps":    {"no Secrets are among them", access.Right{Verb: "get", Group: "apps", Resource: "*"}, false},
		"reading pods":           {"anywhere", access.Right{Verb: "get", Group: "*", Resource: "pods"}, false},
		"reading roles":          {"they give nothing", access.Right{Verb: "get", Group: rbac, Resource: "*"}, false},
		"bindings":               {"who binds has all rights", access.Right{Verb: "create", Group: rbac, Resource: "rolebindings"}, true},
		"bindings, every group":  {"RBAC is among them", access.Right{Verb: "create", Group: "*", Resource: "rolebindings"}, true},
		"bind":                   {"any role", access.Right{Verb: "bind", Group: rbac, Resource: "clusterroles"}, true},
		"bind one":               {"no more than the role", access.Right{Verb: "bind", Group: rbac, Resource: "clusterroles", Name: "view"}, false},
		"escalate":               {"writes rights that it has not", access.Right{Verb: "escalate", Group: rbac, Resource: "roles"}, true},
		"impersonate":            {"has the rights of others", access.Right{Verb: "impersonate", Resource: "users"}, true},
		"tokens":                 {"a token is the account", access.Right{Verb: "create", Resource: "serviceaccounts/token"}, true},
		"policies":               {"keep tenants apart", access.Right{Verb: "patch", Group: "networking.k8s.io", Resource: "networkpolicies"}, true},
		"policies of the admin":  {"go before those of tenants", access.Right{Verb: "create", Group: "policy.networking.k8s.io", Resource: "adminnetworkpolicies"}, true},
		"policies of Calico":     {"go before those of Kubernetes", access.Right{Verb: "create", Group: "crd.projectcalico.org", Resource: "networkpolicies"}, true},
		"reading policies":       {"opens nothing", access.Right{Verb: "get", Group: "networking.k8s.io", Resource: "networkpolicies"}, false},
		"validating policies":    {"enforce what specs promise", access.Right{Verb: "delete", Group: admission, Resource: "validatingadmissionpolicies"}, true},
		"mutating policies":      {"change every object", access.Right{Verb: "create", Group: admission, Resource: "mutatingadmissionpolicies"}, true},
		"webhooks":               {"change every object", access.Right{Verb: "create", Group: admission, Resource: "mutatingwebhookconfigurations"}, true},
		"all of admission":       {"webhooks are among them", access.Right{Verb: "create", Group: admission, Resource: "*"}, true},
		"definitions":            {"a new kind can replace an old one", access.Right{Verb: "update", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, true},
		"services of the API":    {"answer for a group of it", access.Right{Verb: "update", Group: "apiregistration.k8s.io", Resource: "apiservices"}, true},
		"approving certificates": {"a certificate can be anybody", access.Right{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers"}, true},
		"signing certificates":   {"a certificate can be anybody", access.Right{Verb: "sign", Group: "certificates.k8s.io", Resource: "signers"}, true},
		"nodes":                  {"are everybody's", access.Right{Verb: "patch", Resource: "nodes"}, true},
		"kubelets":               {"run everybody's pods", access.Right{Verb: "create", Resource: "nodes/proxy"}, true},
		"volumes":                {"hold everybody's data", access.Right{Verb: "create", Resource: "persistentvolumes"}, true},
		"priorities":             {"decide whose pods are removed", access.Right{Verb: "create", Group: "scheduling.k8s.io", Resource: "priorityclasses"}, true},
		"queues":                 {"are decided in git", access.Right{Verb: "update", Group: "kueue.x-k8s.io", Resource: "clusterqueues"}, true},
		"topologies":             {"are decided in git", access.Right{Verb: "update", Group: "kueue.x-k8s.io", Resource: "topologies"}, true},
		"priorities of jobs":     {"are decided in git", access.Right{Verb: "update", Group: "kueue.x-k8s.io", Resource: "workloadpriorityclasses"}, true},
		"runtimes":               {"are what everybody's jobs execute", access.Right{Verb: "update", Group: "trainer.kubeflow.org", Resource: "clustertrainingruntimes"}, true},
		"runtimes of a tenant":   {"are what its jobs execute", access.Right{Verb: "update", Group: "trainer.kubeflow.org", Resource: "trainingruntimes"}, true},
		"jobs":                   {"people of tenants have it", access.Right{Verb: "create", Group: "trainer.kubeflow.org", Resource: "trainjobs"}, false},
		"a shell":                {"admins of tenants have it", access.Right{Verb: "create", Resource: "pods/exec"}, false},
		"a port":                 {"admins of tenants have it", access.Right{Verb: "create", Resource: "pods/portforward"}, false},
		"constraints":            {"decide what pods may do to their machine", access.Right{Verb: "update", Group: scc, Resource: "securitycontextconstraints"}, true},
		"use of a constraint":    {"the constraint itself is judged", access.Right{Verb: "use", Group: scc, Resource: "securitycontextconstraints", Name: "nonroot"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.right.SevereReason() != ""; got != c.want {
				t.Errorf("%s: %s is severe: %v, want %v", c.reason, c.right, got, c.want)
			}
		})
	}
}

// TestAgain: what is added to one of two clusters that share facts does not change what people may do on the other.
func TestAgain(t *testing.T) {
	of := func(text string) access.Facts {
		var content map[string]any
		if err := sigsyaml.Unmarshal([]byte("apiVersion: rbac.authorization.k8s.io/v1\n"+text), &content); err != nil {
			t.Fatal(err)
		}
		return access.FactsOf([]object.Object{object.New(object.FromValue("", content, nil), object.Place{}, nil)})
	}
	all := of("kind: ClusterRole\nmetadata: {name: all-of-it}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {part: \"yes\"}}]}")
	bound := of("kind: RoleBinding\nmetadata: {name: one, namespace: a}\nroleRef: {kind: ClusterRole, name: all-of-it}\nsubjects: [{kind: Group, name: g}]")
	part := of("kind: ClusterRole\nmetadata: {name: part, labels: {part: \"yes\"}}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]")
	var with, without access.Cluster
	for _, f := range []access.Facts{part, all, bound} {
		with.Add(f)
	}
	for _, f := range []access.Facts{all.ForOtherCluster(), bound.ForOtherCluster()} {
		without.Add(f)
	}
	if got, other := with.Holdings(), without.Holdings(); len(got) != 1 || len(got[0].Rights) != 1 || len(other) != 1 || len(other[0].Rights) != 0 {
		t.Errorf("with the part: %v, without: %v", got, other)
	}
}
