package enforced_test

import (
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/enforced"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// specs have every kind of object by which a cluster refuses something, on two platforms.
const specs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: local}
spec:
  platform: PLATFORM
  version: "1.34"
  agent: {image: "example.org/agent:1"}
  gitops: {engine: Flux, repository: "https://git.example.com/platform.git"}
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: ib}
spec: {fabric: {type: InfiniBand, resource: rdma/ib}, node: {cpu: 2, memory: 4Gi}}
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: mpi}
spec: {mpi: {implementation: OpenMPI, version: "5.0.7"}, image: "example.org/mpi:5", profile: ib}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision}
spec:
  people: {editors: [vision-editors]}
  namespaces: [vision]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
`

func compiled(t *testing.T, platform string) prooftest.Sample {
	t.Helper()
	return prooftest.CompileSample(t, strings.Replace(specs, "PLATFORM", platform, 1), nil)
}

func found(s prooftest.Sample, emitted []object.Object) []diag.Code {
	list := &diag.List{}
	enforced.Prove(s.Plan, s.Objects, emitted, nil, list)
	var codes []diag.Code
	for _, d := range list.Sorted() {
		codes = append(codes, d.Code)
	}
	return codes
}

// TestMutations changes and drops every value of every admission policy, binding and constraint, and removes each as a whole.
func TestMutations(t *testing.T) {
	for _, platform := range []string{"Kubernetes", "OpenShift"} {
		s, count := compiled(t, platform), 0
		if codes := found(s, slices.Clone(s.Objects)); len(codes) > 0 {
			t.Fatalf("what nobody patched is found: %v", codes)
		}
		for i, o := range s.Objects {
			if o.ID.Group != "admissionregistration.k8s.io" && o.ID.Kind != "SecurityContextConstraints" {
				continue
			}
			if codes := found(s, prooftest.WithoutObject(s.Objects, i)); !slices.Equal(codes, []diag.Code{diag.EnforcementWeakened}) {
				t.Errorf("%s is removed: %v", o.ID, codes)
			}
			prooftest.VisitNodes(&o.Root, "", func(path string, n *object.Node) {
				if strings.HasPrefix(path, "metadata") || path == "apiVersion" || path == "kind" {
					return
				}
				other := *n
				other.Text, other.Children = n.Text+"x", nil
				for _, to := range []*object.Node{nil, &other} {
					if to != nil && n.Kind == object.ListNode && len(n.Children) == 0 {
						continue // the same empty list
					}
					emitted := slices.Clone(s.Objects)
					emitted[i].Root = prooftest.ReplaceNode(o.Root, n, to)
					if codes := found(s, emitted); !slices.Equal(codes, []diag.Code{diag.EnforcementWeakened}) {
						t.Errorf("%s: a change of %s is %v", o.ID, path, codes)
					}
					count++
				}
			})
		}
		t.Logf("%s: %d changes", platform, count)
		if count < 100 {
			t.Errorf("%s: only %d changes", platform, count)
		}
	}
}

// TestPinning: the capability that a runtime needs to pin memory is no reason to refuse its pods, others are.
func TestPinning(t *testing.T) {
	s := compiled(t, "Kubernetes")
	i := slices.IndexFunc(s.Objects, func(o object.Object) bool { return o.ID.Kind == "ClusterTrainingRuntime" })
	for capability, want := range map[string]int{"IPC_LOCK": 0, "SYS_ADMIN": 1} {
		emitted := slices.Clone(s.Objects)
		root := emitted[i].Root
		prooftest.VisitNodes(&root, "", func(_ string, n *object.Node) {
			if n.Key == "" && n.Text == "IPC_LOCK" {
				root = prooftest.ReplaceNode(root, n, &object.Node{Kind: object.TextNode, Text: capability})
			}
		})
		root = prooftest.ReplaceNode(root, nil, nil) // a tree of its own
		emitted[i].Root = root
		if codes := found(s, emitted); len(codes) != want || want == 1 && codes[0] != diag.PodsRefused {
			t.Errorf("%s: %v", capability, codes)
		}
	}
}

// TestPinningNamespaces: memory may be pinned where the policy lockstep-pods is all that enforces; Pod Security knows no exception.
func TestPinningNamespaces(t *testing.T) {
	s := compiled(t, "Kubernetes")
	pod := func(capability string) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "tool", "namespace": "tools"},
			"spec": map[string]any{
				"serviceAccountName": "mpi-rdma",
				"securityContext":    map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
				"containers": []any{map[string]any{"name": "x", "image": "example.org/x:1", "securityContext": map[string]any{
					"allowPrivilegeEscalation": false,
					"capabilities":             map[string]any{"drop": []any{"ALL"}, "add": []any{capability}},
				}}},
			},
		}
	}
	const ours, standard = "lockstep.dev/pod-security", "pod-security.kubernetes.io/enforce"
	for name, c := range map[string]struct {
		reason     string
		labels     map[string]any
		capability string
		want       []diag.Code
	}{
		"as compiled":      {"the policy has the exception", map[string]any{standard: "privileged", ours: "restricted-rdma"}, "IPC_LOCK", nil},
		"unlabelled":       {"Pod Security refuses nothing by default", map[string]any{ours: "restricted-rdma"}, "IPC_LOCK", nil},
		"more":             {"the policy refuses it", map[string]any{standard: "privileged", ours: "restricted-rdma"}, "SYS_ADMIN", []diag.Code{diag.PodsRefused}},
		"restricted":       {"Pod Security refuses it", map[string]any{standard: "restricted", ours: "restricted-rdma"}, "IPC_LOCK", []diag.Code{diag.PodsRefused}},
		"baseline":         {"Pod Security refuses it", map[string]any{standard: "baseline", ours: "restricted-rdma"}, "IPC_LOCK", []diag.Code{diag.PodsRefused}},
		"baseline, little": {"the policy refuses what only baseline allows", map[string]any{standard: "baseline", ours: "restricted-rdma"}, "KILL", []diag.Code{diag.PodsRefused}},
		"another label":    {"the policy looks for its own value", map[string]any{standard: "privileged", ours: "other"}, "SYS_ADMIN", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []object.Object
			for _, content := range []map[string]any{
				{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "tools", "labels": c.labels}}, pod(c.capability),
			} {
				objects = append(objects, object.New(object.FromValue("", content, nil), object.Place{}, nil))
			}
			list, w := &diag.List{}, &enforced.Workloads{}
			w.Add(enforced.FactsOf(objects, false))
			w.Prove(s.Plan, list)
			var got []diag.Code
			for _, d := range list.Sorted() {
				got = append(got, d.Code)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.reason, got, c.want)
			}
		})
	}
}
