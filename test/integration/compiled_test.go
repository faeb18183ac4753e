package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// acceptsCompiled applies every object of every cluster, field by field: as its spec says, and as it would be on a cluster of the API server's
// version.
func acceptsCompiled(ctx SpecContext) {
	for _, root := range []fs.FS{repository, ofVersion{repository, servedMinor()}} {
		for _, cluster := range compiledFrom(root) {
			objects := decodeFiles(cluster)
			Expect(objects).To(HaveLen(cluster.Objects.Len()))
			makeNamespaces(ctx, objects)
			var refusals []string
			for _, object := range objects {
				if err := apply(ctx, object); err != nil {
					refusals = append(refusals, fmt.Sprintf("%s %s/%s: %v", object.GetKind(), object.GetNamespace(), object.GetName(), err))
				}
			}
			GinkgoWriter.Printf("%s: applied %d objects\n", cluster.Name, len(objects))
			Expect(refusals).To(BeEmpty(), "%s: %s", cluster.Name, strings.Join(refusals, "\n"))
		}
	}
}

// repository is this one.
var repository = os.DirFS("../..")

// ofVersion is a repository all clusters of which have a minor version of Kubernetes.
type ofVersion struct {
	fs.FS
	minor int
}

var versionLine = regexp.MustCompile(`(?m)^  version: "1\.\d+"`)

func (v ofVersion) Open(name string) (fs.File, error) {
	if ok, _ := path.Match("overlays/*/cluster.yaml", name); !ok {
		return v.FS.Open(name)
	}
	text, err := fs.ReadFile(v.FS, name)
	if err != nil {
		return nil, err
	}
	changed := versionLine.ReplaceAll(text, fmt.Appendf(nil, `  version: "1.%d"`, v.minor))
	return fstest.MapFS{name: {Data: changed}}.Open(name)
}

// compiled compiles this repository.
func compiled() []compile.Cluster {
	GinkgoHelper()
	return compiledFrom(repository)
}

func compiledFrom(root fs.FS) []compile.Cluster {
	GinkgoHelper()
	clusters, diagnostics := compile.Compile(root, compile.Options{Charts: helm.Renderer{}})
	Expect(diagnostics.Errors()).To(BeZero())
	Expect(clusters).To(HaveLen(3))
	return clusters
}

// compiledObjects returns the objects of all clusters as they were emitted, in namespaces that exist.
func compiledObjects(ctx SpecContext) []map[string]any {
	var contents []map[string]any
	for _, cluster := range compiled() {
		objects := decodeFiles(cluster)
		makeNamespaces(ctx, objects)
		for _, object := range objects {
			contents = append(contents, object.Object)
		}
	}
	return contents
}

// makeNamespaces makes the namespaces that objects lie in. Some belong to others, such as those of GitOps engines.
func makeNamespaces(ctx SpecContext, objects []*unstructured.Unstructured) {
	GinkgoHelper()
	for _, object := range objects {
		if name := object.GetNamespace(); name != "" {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			Expect(client.IgnoreAlreadyExists(admin.Create(ctx, namespace))).To(Succeed())
		}
	}
}

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
