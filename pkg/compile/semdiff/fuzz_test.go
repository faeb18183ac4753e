package semdiff_test

import (
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// FuzzCompare: objects of any shape, as a live cluster or a chart may have them, are compared without a panic, what differs is told,
// and what is equal is not.
func FuzzCompare(f *testing.F) {
	for _, seed := range [][2]string{
		{"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {x: y}}"},
		{"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a, namespace: b}\nspec: {egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a, namespace: b}\nspec: []"},
		{"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a, namespace: b}\nroleRef: {name: x, kind: Role}\nsubjects: [{kind: Group, name: g}]",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a, namespace: b}\nroleRef: 1\nsubjects: {}"},
		{"apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: a}\nspec: {resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]}]}",
			"apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: a}\nspec: {resourceGroups: [1, [], {flavors: {a: b}}]}"},
		{"kind: ValidatingAdmissionPolicy\nspec: {variables: [{name: runtime_a, expression: \"{'a': 'b'}\"}]}", "kind: ValidatingAdmissionPolicy\nspec: {variables: {runtime_a: 1}}"},
		{"kind: ClusterTrainingRuntime\nspec: {securityContext: {capabilities: {add: [ALL]}}}", "kind: ClusterTrainingRuntime\nspec: {securityContext: 7, image: {x: y}}"},
		{"kind: Cohort\napiVersion: kueue.x-k8s.io/v1", "kind: LimitRange\nspec: {limits: [{type: Container, max: {cpu: x}}]}"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		before, after := parsed(first), parsed(second)
		r := semdiff.Compare(semdiff.Input{Units: []semdiff.Unit{semdiff.NewUnit("c", "u", before, after, nil)}, KeepAll: true})
		if told := claimedOnce(t, &r); told != r.Totals.Values {
			t.Errorf("%d values differ, %d are told", r.Totals.Values, told)
		}
		r = semdiff.Compare(semdiff.Input{Units: []semdiff.Unit{semdiff.NewUnit("c", "u", before, before, nil)}})
		if len(r.Entries) > 0 {
			t.Errorf("equal objects differ: %s", summary(&r))
		}
	})
}

// parsed are the objects of a text, without origins; none for what is not YAML.
func parsed(text string) []object.Object {
	objects := []object.Object{}
	for _, document := range strings.Split(text, "---\n") {
		var content map[string]any
		if sigsyaml.Unmarshal([]byte(document), &content) == nil && len(content) > 0 {
			objects = append(objects, object.New(object.FromValue("", content, nil), object.Place{}, nil))
		}
	}
	return objects
}
