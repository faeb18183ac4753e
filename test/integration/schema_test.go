package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/schema/corpus"
	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
)

// schemaSpecs: the compiler says what an API server would refuse, and here a real one says it.
func schemaSpecs() {
	BeforeAll(func() {
		if !schema.Available() {
			Fail("this build has no schemas: run `make schemas`")
		}
	})

	It("are what the API server accepts: all objects that this repository compiles to", onEachVersion, acceptsCompiled)

	It("come to the verdicts of the API server", func(ctx SpecContext) {
		cases, err := corpus.Cases()
		Expect(err).NotTo(HaveOccurred())
		compareVerdicts(ctx, cases)
	})

	It("come to the verdicts of the API server on broken output of the compiler", func(ctx SpecContext) {
		objects := compiledObjects(ctx)
		cases, err := corpus.CompiledCases(objects)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(cases)).To(BeNumerically(">=", 60))
		compareVerdicts(ctx, cases)
		for seed := range uint64(3) {
			compareVerdicts(ctx, corpus.RandomCases(objects, 1000, seed))
		}
	})
}

// compareVerdicts fails if the compiler and the API server do not agree on an object.
func compareVerdicts(ctx SpecContext, cases []corpus.Case) {
	GinkgoHelper()
	schemas, err := schema.SchemasFor(36)
	Expect(err).NotTo(HaveOccurred())
	var differences []string
	both, gaps := 0, 0
	for _, test := range cases {
		root := object.FromValue("", test.Object, nil)
		// Of what pods are refused for, an API server says nothing before there is a job.
		ours := slices.DeleteFunc(schemas.Check(&root), func(p schema.Problem) bool { return p.OfPods })
		theirs := refusal(ctx, test.Object)
		switch {
		case (len(ours) == 0) != (theirs == nil) && known(ours, theirs):
			gaps++
		case len(ours) == 0 && theirs != nil:
			differences = append(differences, fmt.Sprintf("%s: only the API server refuses it: %v", test.Name, theirs))
		case len(ours) > 0 && theirs == nil:
			differences = append(differences, fmt.Sprintf("%s: only we refuse it: %v", test.Name, ours))
		case theirs != nil:
			both++
		}
	}
	GinkgoWriter.Printf("compared %d verdicts: both refuse %d, both accept %d, known gaps %d\n", len(cases), both, len(cases)-both-gaps-len(differences), gaps)
	Expect(differences).To(BeEmpty(), strings.Join(differences, "\n"))
}

// gaps are the differences between the compiler and API servers that are known, by what one of them says, with the reason.
var gaps = map[string]string{
	"compilation failed: ":               "names and types in expressions of policies need all of CEL that API servers have, which adds 6 ms to the start of every process",
	"must evaluate to bool but got ":     "the same",
	"spec.limits: required, but missing": "a LimitRange without limits means nothing: OpenAPI requires them and kubectl refuses it, the API server reads no limits",
}

func known(ours []schema.Problem, theirs error) bool {
	said := fmt.Sprint(ours, theirs)
	for gap := range gaps {
		if strings.Contains(said, gap) {
			return true
		}
	}
	return false
}

// refusal is what the API server says to an object when it is created and when it is applied; nothing is stored.
func refusal(ctx context.Context, content map[string]any) error {
	options := []client.CreateOption{client.DryRunAll, client.FieldValidation("Strict"), client.FieldOwner("test")}
	switch err := admin.Create(ctx, unstructuredOf(content), options...); {
	case apierrors.IsAlreadyExists(err):
		// It was valid, and to apply it would be a change, for which there are more rules.
		return nil
	case err != nil:
		return fmt.Errorf("create: %w", err)
	}
	applied := client.ApplyConfigurationFromUnstructured(unstructuredOf(content))
	if err := admin.Apply(ctx, applied, client.DryRunAll, client.FieldOwner("test"), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

func unstructuredOf(content map[string]any) *unstructured.Unstructured {
	data, err := yaml.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	made := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(data, &made.Object)).To(Succeed())
	return made
}

// pinnedCRDs are the CRDs that the schemas of the compiler come from.
func pinnedCRDs() []*apiextensions.CustomResourceDefinition {
	var found []*apiextensions.CustomResourceDefinition
	for _, source := range pinned.Sources {
		if source.Minor != 0 {
			continue
		}
		files, err := source.Read()
		Expect(err).NotTo(HaveOccurred())
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for document := range strings.SplitSeq("\n"+string(files[name]), "\n---\n") {
				crd := &apiextensions.CustomResourceDefinition{}
				Expect(yaml.Unmarshal([]byte(document), crd)).To(Succeed(), name)
				if crd.Kind == "CustomResourceDefinition" {
					found = append(found, crd)
				}
			}
		}
	}
	return found
}

// foreign are the CRDs that the suite does not need otherwise.
func foreign(crds []*apiextensions.CustomResourceDefinition) []*apiextensions.CustomResourceDefinition {
	return slices.DeleteFunc(crds, func(crd *apiextensions.CustomResourceDefinition) bool {
		return crd.Spec.Group == "trainer.kubeflow.org" || crd.Spec.Group == "jobset.x-k8s.io"
	})
}
