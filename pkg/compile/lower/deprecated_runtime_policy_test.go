package lower_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/attacker"
)

// TestDeprecatedRuntimePolicy: the API server warns in the words of all front ends, and of the deprecated runtime only.
func TestDeprecatedRuntimePolicy(t *testing.T) {
	s := attacker.NewServer(t, lower.PlatformObjects(attacker.PlanOf(t, attacker.Specs)))
	policies := map[string]string{
		"ClusterTrainingRuntime": "lockstep-runtime-deprecated", "TrainingRuntime": "lockstep-variant-deprecated",
	}
	ask := func(kind, spec string, annotations map[string]string) string {
		runtime := &unstructured.Unstructured{}
		runtime.SetName("gpu")
		runtime.SetAnnotations(annotations)
		request := attacker.CreateTrainJob(&corev1.Namespace{}, job(t, spec))
		request.Parameter = runtime
		return s.Ask(t, policies[kind], request)
	}
	labels := map[string]string{mpi.SupportLabel: mpi.Deprecated}
	for name, annotations := range map[string]map[string]string{
		"Nothing":   nil,
		"Others":    {mpi.DescriptionAnnotation: "For tests."},
		"Day":       {mpi.RetireOnAnnotation: "2027-03-31"},
		"Successor": {mpi.SuccessorAnnotation: "new"},
		"Reason":    {mpi.DeprecationReasonAnnotation: "it isn't\npatched\n"},
		"All": {
			mpi.RetireOnAnnotation: "2027-03-31", mpi.SuccessorAnnotation: "new", mpi.DeprecationReasonAnnotation: "x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := mpi.DeprecationOf(labels, annotations).Warning("gpu")
			for kind := range policies {
				if got := ask(kind, "spec: {runtimeRef: {name: gpu, kind: "+kind+"}}", annotations); got != want {
					t.Errorf("%s: got %q, want %q", kind, got, want)
				}
			}
		})
	}
	for spec, warns := range map[string]bool{
		"spec: {runtimeRef: {name: gpu}}": true, "spec: {runtimeRef: {name: cpu}}": false,
		"spec: {runtimeRef: {name: gpu, kind: TrainingRuntime}}": false, "{}": false,
	} {
		if got := ask("ClusterTrainingRuntime", spec, nil); (got != "") != warns {
			t.Errorf("%s: %q", spec, got)
		}
	}
}

// TestDeprecatedRuntimeBinding: a policy that warns refuses nothing, also if it cannot judge, and without parameters.
func TestDeprecatedRuntimeBinding(t *testing.T) {
	found := 0
	for _, o := range lower.PlatformObjects(attacker.PlanOf(t, attacker.Specs)) {
		if o.ID.Name != "lockstep-runtime-deprecated" {
			continue
		}
		spec, _ := o.Root.Get("spec").Value().(map[string]any)
		switch {
		case o.ID.Kind == "ValidatingAdmissionPolicy" && spec["failurePolicy"] != "Ignore":
			t.Errorf("on a failure: %v", spec["failurePolicy"])
		case o.ID.Kind == "ValidatingAdmissionPolicyBinding":
			want := map[string]any{
				"policyName": o.ID.Name, "validationActions": []any{"Warn"},
				"paramRef": map[string]any{
					"parameterNotFoundAction": "Allow",
					"selector":                map[string]any{"matchLabels": map[string]any{mpi.SupportLabel: mpi.Deprecated}},
				},
			}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Error(diff)
			}
		}
		found++
	}
	if found != 2 {
		t.Errorf("%d objects", found)
	}
}
