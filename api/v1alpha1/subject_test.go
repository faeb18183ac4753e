package v1alpha1_test

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/api/v1alpha1"
)

func TestSubjectsAreReadInBothForms(t *testing.T) {
	var people v1alpha1.People
	if err := yaml.Unmarshal([]byte("editors: [vision, {serviceAccount: ci/robot}, {user: jane}]"), &people); err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.Subject{{Group: "vision"}, {ServiceAccount: "ci/robot"}, {User: "jane"}}
	if !slices.Equal(people.Editors, want) {
		t.Errorf("got %+v, want %+v", people.Editors, want)
	}
	if err := yaml.Unmarshal([]byte("editors: [3]"), &people); err == nil {
		t.Error("a number is a subject")
	}
}
