package integration

import (
	"os"
	"path"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/compile"
)

var _ = Describe("What the compiler makes of this repository", func() {
	It("is accepted by the API server, object by object and field by field", func(ctx SpecContext) {
		clusters, diagnostics := compile.Compile(os.DirFS("../.."), compile.Options{})
		Expect(diagnostics.Errors()).To(BeZero())
		Expect(clusters).NotTo(BeEmpty())
		for _, cluster := range clusters {
			objects := decodeFiles(cluster)
			Expect(objects).To(HaveLen(cluster.Objects.Len()))
			for _, object := range objects {
				Expect(apply(ctx, object)).To(Succeed(), "%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
			}
		}
	})
})

// apply applies an object as a GitOps engine would, without keeping it. Namespaces are kept, because what lies in them is
// refused otherwise. A field that the API server does not know is an error.
func apply(ctx SpecContext, object *unstructured.Unstructured) error {
	options := []client.ApplyOption{client.FieldOwner("integration"), client.ForceOwnership}
	if object.GetKind() != "Namespace" {
		options = append(options, client.DryRunAll)
	}
	return client.WithFieldValidation(admin, "Strict").Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
}

// decodeFiles returns the objects of all files in the order in which `kubectl apply -k` meets them: namespaces first.
func decodeFiles(cluster compile.Cluster) []*unstructured.Unstructured {
	var namespaces, others []*unstructured.Unstructured
	for _, file := range cluster.Files {
		if path.Base(file.Path) == "kustomization.yaml" {
			continue
		}
		objects, err := decode(string(file.Data))
		Expect(err).NotTo(HaveOccurred(), file.Path)
		for _, object := range objects {
			if object.GetKind() == "Namespace" {
				namespaces = append(namespaces, object)
			} else {
				others = append(others, object)
			}
		}
	}
	return append(namespaces, others...)
}
