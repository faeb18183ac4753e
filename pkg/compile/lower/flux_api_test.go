package lower_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	source "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestFluxDecodesStrictly: Flux's own types take every object that is compiled for it, without a field that they do not know. The proof
// against Flux's CRDs says the same from another source.
func TestFluxDecodesStrictly(t *testing.T) {
	cases, err := filepath.Glob("../testdata/clusters/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	decoded := 0
	for _, name := range cases {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			for _, document := range bytes.Split(file.Data, []byte("\n---\n")) {
				if decodeFlux(t, name+": "+file.Name, document) {
					decoded++
				}
			}
		}
	}
	if decoded < 7 {
		t.Errorf("%d objects of Flux in %d cases: the goldens are somewhere else", decoded, len(cases))
	}
}

// decodeFlux reports whether a document is an object of Flux.
func decodeFlux(t *testing.T, where string, document []byte) bool {
	var kind metav1.TypeMeta
	if yaml.Unmarshal(document, &kind) != nil {
		return false
	}
	var object any
	switch kind.GroupVersionKind() {
	case kustomize.GroupVersion.WithKind(kustomize.KustomizationKind):
		object = &kustomize.Kustomization{}
	case source.GroupVersion.WithKind(source.GitRepositoryKind):
		object = &source.GitRepository{}
	default:
		return false
	}
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		t.Errorf("%s: %v\n%s", where, err, document)
	}
	if k, is := object.(*kustomize.Kustomization); is && (k.GetRetryInterval() <= 0 || k.GetTimeout() <= 0 || k.GetDeletionPolicy() == "") {
		t.Errorf("%s: Flux reads %+v", where, k.Spec)
	}
	return true
}
