package scaffold_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/scaffold"
)

// TestClusterRunsJobs: a first cluster comes with the controller that runs its jobs, under the image of the agent's release, and compiles.
func TestClusterRunsJobs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		written scaffold.Written
		want    string
		absent  string
	}{
		"Beside":   {"one release, one registry", scaffold.Written{"agent-image": {"registry.example.com:5000/lockstep/mpi-agent:v0.1.0"}}, "repository: registry.example.com:5000/lockstep/mpi-controller\n          tag: v0.1.0\n", ""},
		"Given":    {"somebody knows better", scaffold.Written{"agent-image": {"example.org/mpi-agent:1"}, "controller-image": {"example.org/c@sha256:" + strings.Repeat("a", 64)}}, "repository: example.org/c\n          digest: sha256:" + strings.Repeat("a", 64) + "\n", ""},
		"Untagged": {"the chart has a tag", scaffold.Written{"agent-image": {"example.org/a:1"}, "controller-image": {"localhost:5000/c"}}, "repository: localhost:5000/c\n", "tag:"},
		"Unknown":  {"the chart has an image", scaffold.Written{"agent-image": {"example.org/agent:1"}}, "release: mpi-controller\n", "values:"},
		"Digest":   {"the digest of the agent is not the controller's", scaffold.Written{"agent-image": {"example.org/mpi-agent@sha256:" + strings.Repeat("b", 64)}}, "release: mpi-controller\n", "values:"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.written["platform"], tc.written["version"] = []string{"Kubernetes"}, []string{"1.36"}
			root := fstest.MapFS{}
			d, err := draft(t, root, "cluster", "fresh", tc.written)
			if err != nil {
				t.Fatal(err)
			}
			_, components, _ := strings.Cut(string(d.Spec.Data), "\n  components:\n")
			components, _, _ = strings.Cut(components, "\n\n")
			components += "\n"
			if !strings.Contains(components, tc.want) || tc.absent != "" && strings.Contains(components, tc.absent) {
				t.Errorf("%s: the components are\n%s", tc.reason, components)
			}
			if len(d.Chart) == 0 {
				t.Error("the repository gets no chart")
			}
			for _, found := range scaffold.FindingsWith(root, d.Files(), compile.Options{Charts: helm.Renderer{}}).Sorted() {
				t.Errorf("%s: %s", found.Span, found.Message)
			}
		})
	}
}

// TestChartOfTheRepositoryStays: whoever has the chart may have changed it.
func TestChartOfTheRepositoryStays(t *testing.T) {
	d, err := draft(t, repository, "cluster", "fresh", enough["cluster"])
	if err != nil || len(d.Chart) > 0 {
		t.Errorf("%d files of the chart, error %v", len(d.Chart), err)
	}
}
