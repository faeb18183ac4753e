package chart

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestBuild: programs of different source are different builds, although the toolchain records the same of both.
func TestBuild(t *testing.T) {
	files := func(renderer string) fstest.MapFS {
		return fstest.MapFS{"renderer.go": {Data: []byte("package chart")}, "helm/helm.go": {Data: []byte(renderer)}}
	}
	if shortDigest(files("package helm")) == shortDigest(files("package helm // another")) {
		t.Error("the digest does not depend on the renderer")
	}
	if !strings.HasSuffix(BuildID(), "source "+shortDigest(sources)) {
		t.Errorf("got %q", BuildID())
	}
	for _, name := range []string{"renderer.go", "helm/helm.go", "helm/values_schema.go"} {
		if _, err := sources.ReadFile(name); err != nil {
			t.Error(err)
		}
	}
}
