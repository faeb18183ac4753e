package compile_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// certified returns the edit of the base's cluster by which its runtime was tested with a fingerprint.
func certified(fingerprint string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(`  certified:
    - runtime: mpi
      fingerprint: ` + fingerprint + `
      date: 2026-11-26
      by: jane
      image: sha256:1111111111111111111111111111111111111111111111111111111111111111
      nodes: 2
      ranks: 4
      pairs: 4
      roundTripMicroseconds: 67
      bandwidthMbps: 5668
      slowestMbps: 4608
`)}
}

// compiledRuntime returns the runtime of the base with changes, and what was found.
func compiledRuntime(t *testing.T, changes fstest.MapFS) (*object.Node, *diag.List) {
	t.Helper()
	clusters, list := compile.Compile(withBase(t, changes), compile.Options{})
	if list.Errors() > 0 {
		t.Fatal(text(t, list))
	}
	for _, o := range clusters[0].Objects.Sorted() {
		if o.ID.Kind == "ClusterTrainingRuntime" {
			return &o.Root, list
		}
	}
	t.Fatal("there is no runtime")
	return nil, nil
}

// TestCertification: a test of a runtime is told on the runtime until its pods become others, by its spec, by the cluster or by a patch. What
// is written about the test does not change what was tested.
func TestCertification(t *testing.T) {
	untested, _ := compiledRuntime(t, fstest.MapFS{})
	fingerprint := untested.StringAt("metadata", "annotations", mpi.FingerprintAnnotation)
	if untested.At("metadata", "labels", mpi.CertifiedLabel) != nil || untested.At("metadata", "annotations", mpi.CertificationAnnotation) != nil {
		t.Error("a runtime that nobody has tested says something about it")
	}
	const runtime, cluster, kustomization = "catalog/runtime.yaml.edit", "overlays/local/cluster.yaml.edit", "overlays/local/kustomization.yaml"
	tested := string(certified(fingerprint).Data)
	for name, c := range map[string]struct {
		changes fstest.MapFS
		stale   bool
	}{
		"nothing":          {fstest.MapFS{}, false},
		"words":            {fstest.MapFS{runtime: {Data: []byte("  description: For all.\n")}}, false},
		"number of nodes":  {fstest.MapFS{runtime: {Data: []byte("  nodes: {default: 3}\n  maxDuration: 2h\n")}}, false},
		"annotation":       {fstest.MapFS{kustomization: patchOfRuntime("/metadata/annotations/example.org~1who", "us")}, false},
		"image":            {fstest.MapFS{runtime: {Data: []byte("  image: example.org/mpi:6\n")}}, true},
		"variable":         {fstest.MapFS{runtime: {Data: []byte("  env: [{name: OMP_NUM_THREADS, value: \"1\"}]\n")}}, true},
		"MPI":              {fstest.MapFS{runtime: {Data: []byte("    version: \"5.0.8\"\n")}}, true},
		"agent":            {fstest.MapFS{cluster: {Data: []byte("    image: example.org/agent:2\n" + tested)}}, true},
		"machines":         {fstest.MapFS{"catalog/profile.yaml.edit": {Data: []byte("    cpu: 3\n")}}, true},
		"patch of objects": {fstest.MapFS{kustomization: patchOfRuntime("/spec/template/spec/replicatedJobs/1/template/spec/template/spec/hostname", "x")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.changes[cluster] == nil {
				c.changes[cluster] = certified(fingerprint)
			}
			got, list := compiledRuntime(t, c.changes)
			state, words := got.StringAt("metadata", "labels", mpi.CertifiedLabel), got.StringAt("metadata", "annotations", mpi.CertificationAnnotation)
			want := "2026-11-26"
			if c.stale {
				want = mpi.CertifiedStale
			}
			if state != want || !strings.HasPrefix(words, "2026-11-26 by jane: 4 ranks on 2 nodes, ") || strings.HasSuffix(words, "changed since") != c.stale {
				t.Errorf("it says %q, want %q, and %q", state, want, words)
			}
			if changed := got.StringAt("metadata", "annotations", mpi.FingerprintAnnotation) != fingerprint; changed != c.stale {
				t.Errorf("another fingerprint: %v", changed)
			}
			found := 0
			for _, d := range list.Sorted() {
				if d.Code == diag.CertificationStale {
					found++
				}
			}
			if (found == 1) != c.stale {
				t.Errorf("%d findings: %s", found, text(t, list))
			}
		})
	}
}

func patchOfRuntime(path, value string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
  - target: {kind: ClusterTrainingRuntime, name: mpi}
    patch: |
      - {op: add, path: ` + path + `, value: ` + value + `}
`)}
}
