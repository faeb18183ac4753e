package overlay

import (
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const clusterSpec = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata:
  name: lab
spec:
  platform: Kubernetes
  version: "1.36"
  agent:
    image: example.org/agent:1
`

// patching is an overlay that gives the cluster another version.
func patching(t *testing.T, version string) *Overlay {
	t.Helper()
	list := &diag.List{}
	o := Read(fstest.MapFS{"overlays/a/kustomization.yaml": &fstest.MapFile{Data: []byte(
		"patches:\n- target: {group: lockstep.dev, kind: Cluster}\n  patch: |-\n    - {op: replace, path: /spec/version, value: " + version + "}\n")}}, "overlays/a", nil, list)
	if o == nil {
		t.Fatal(list.Sorted()[0].Message)
	}
	return o
}

// TestKnown: two states that have the same overlay and the same document have the same patched one; another overlay has its own; and what
// is found is told to both.
func TestKnown(t *testing.T) {
	for name, c := range map[string]struct {
		reason, before, after string
		same                  bool
		findings              [2]int
	}{
		"Same":    {"nothing is made twice", `"1.35"`, `"1.35"`, true, [2]int{}},
		"Another": {"it is another cluster", `"1.35"`, `"1.34"`, false, [2]int{}},
		"Nothing": {"a patch that changes nothing is a warning on both sides", `"1.36"`, `"1.36"`, true, [2]int{1, 1}},
		"Broken":  {"a mistake is told on both sides", `1`, `1`, false, [2]int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			documents := decode.Files([]*source.File{source.NewFile("overlays/a/cluster.yaml", []byte(clusterSpec))}, &diag.List{})
			known := &Cache{}
			var lists [2]diag.List
			was := patching(t, c.before).Specs(documents, known, &lists[0])
			is := patching(t, c.after).Specs(documents, known, &lists[1])
			if got := was[0] == is[0]; got != c.same {
				t.Errorf("%s: the same document: %v", c.reason, got)
			}
			for i := range lists {
				var told []string
				for _, d := range lists[i].Sorted() {
					told = append(told, d.Message)
				}
				if len(told) != c.findings[i] {
					t.Errorf("%s: findings %d: %s", c.reason, i, strings.Join(told, "; "))
				}
			}
		})
	}
}
