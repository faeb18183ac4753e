package review_test

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/review"
	"lockstep.dev/lockstep/pkg/compile/schema"
)

var repository = fstest.MapFS{
	"overlays/lab/cluster.yaml": file(`apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata:
  name: lab
spec:
  platform: Kubernetes
  version: "1.36"
  network:
    ranges: [10.128.0.0/14, 172.30.0.0/16]
  agent:
    image: example.org/agent:1
`),
	"catalog/all.yaml": file(`apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata:
  name: cpu
spec:
  fabric:
    type: Ethernet
  node:
    cpu: 32
    memory: 128Gi
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata:
  name: small
spec:
  description: Open MPI without accelerators.
  mpi:
    implementation: OpenMPI
    version: "5.0.7"
  image: example.org/mpi/small:5
  profile: cpu
  slotsPerNode: 2
  nodes:
    default: 1
    min: 1
    max: 8
  resourcesPerNode:
    cpu: 2
    memory: 4Gi
`),
	"tenants/vision.yaml": file(`apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata:
  name: vision
spec:
  displayName: Computer vision
  people:
    editors: [vision-editors]
  namespaces: [vision]
  clusters: [lab]
  runtimes: [small]
  quota:
    cpu: 400
    memory: 3Ti
    pods: 20
    jobs: 10
`),
}

// hole is a patch that opens more than the specs declare, which the proofs refuse.
var hole = fstest.MapFS{
	"overlays/lab/kustomization.yaml": file(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
  - target: {kind: NetworkPolicy, name: lockstep-default-deny, namespace: vision}
    patch: |
      - {op: add, path: /spec/egress, value: [{}]}
`),
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func with(base, change fstest.MapFS) fstest.MapFS {
	all := maps.Clone(base)
	maps.Copy(all, change)
	return all
}

func reviewed(t *testing.T, after fstest.MapFS, whole bool) review.Result {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
	result, err := review.Of(repository, after, review.Options{Compile: compile.Options{Today: "2026-11-21"}, Whole: whole})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestWhole: facts and findings of proofs are there for those who ask, and a state that the proofs refuse is compared all the same.
func TestWhole(t *testing.T) {
	part, whole := reviewed(t, with(repository, hole), false), reviewed(t, with(repository, hole), true)
	if !part.Compared() || !whole.Compared() {
		t.Fatal("not compared")
	}
	if part.Clusters[0].After != nil || part.After.Errors() > 0 {
		t.Errorf("proven without need: %v", part.Clusters[0].After)
	}
	facts := whole.Clusters[0].After
	if facts == nil || len(facts.Reach.Of) != 1 || facts.Reach.Of[0].Tenant != "vision" || strings.Join(facts.Ranges, " ") != "10.128.0.0/14 172.30.0.0/16" {
		t.Errorf("facts: %+v", facts)
	}
	if whole.After.Errors() == 0 || len(whole.Entries) != len(part.Entries) || !strings.HasPrefix(whole.Verdict, "check refuses it with ") || !strings.Contains(whole.Verdict, "internet egress") {
		t.Errorf("%d errors, %d entries, %d without proofs: %s", whole.After.Errors(), len(whole.Entries), len(part.Entries), whole.Verdict)
	}
}

// TestBroken: where a side does not compile nothing is compared.
func TestBroken(t *testing.T) {
	for _, whole := range []bool{false, true} {
		r := reviewed(t, with(repository, fstest.MapFS{"tenants/vision.yaml": file("kind: Tenant\n")}), whole)
		if r.Compared() || len(r.Entries) > 0 || r.Findings.Errors == 0 || !strings.HasPrefix(r.Verdict, "The specs do not compile: ") {
			t.Errorf("compared %t, %d entries, %d errors: %s", r.Compared(), len(r.Entries), r.Findings.Errors, r.Verdict)
		}
		if len(r.Findings.New) == 0 || r.Findings.New[0].Severity != diag.Error {
			t.Errorf("findings: %v", r.Findings.New)
		}
	}
}
