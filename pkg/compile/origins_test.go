package compile_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// allClusters compiles the repository's own specs and the corpus of right ones.
func allClusters(t *testing.T) map[string][]compile.Cluster {
	t.Helper()
	all := map[string][]compile.Cluster{"repository": objectsOf(t, repository)}
	cases, err := filepath.Glob("testdata/clusters/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{}
		for _, file := range archive.Files {
			if !strings.HasPrefix(file.Name, "out/") {
				files[file.Name] = &fstest.MapFile{Data: file.Data}
			}
		}
		all[name] = objectsOf(t, withBase(t, files))
	}
	return all
}

func objectsOf(t *testing.T, root fs.FS) []compile.Cluster {
	t.Helper()
	clusters, list := compile.Compile(root, compile.Options{Charts: helm.Renderer{}})
	if list.Errors() > 0 {
		t.Fatalf("does not compile:\n%s", text(t, list))
	}
	return clusters
}

// TestEveryLeafHasAnOrigin: whatever leaf of whatever object somebody asks about, there is an answer: a place in a spec or a
// chart, or the reason of a rule or of a default.
func TestEveryLeafHasAnOrigin(t *testing.T) {
	leaves := 0
	for name, clusters := range allClusters(t) {
		for _, cluster := range clusters {
			for _, o := range cluster.Objects.Sorted() {
				o.Leaves(func(path []string, _ *object.Node, from *origin.Origin) {
					leaves++
					expectKnown(t, fmt.Sprintf("%s: %s %s", name, o.ID, strings.Join(path, " ")), from)
				})
			}
		}
	}
	if leaves < 1000 {
		t.Errorf("only %d leaves", leaves)
	}
}

func expectKnown(t *testing.T, what string, from *origin.Origin) {
	t.Helper()
	if !from.Known() {
		t.Errorf("%s has no origin: %+v", what, from)
		return
	}
	for _, lost := range from.Lost {
		if lost.Value == "" {
			t.Errorf("%s overrode nothing at %s", what, lost.Origin.At)
		}
		expectKnown(t, what+", what it overrode", lost.Origin)
	}
}

// origins returns the origin of every leaf by cluster, identity and path.
func origins(clusters []compile.Cluster) map[string]*origin.Origin {
	all := map[string]*origin.Origin{}
	for _, c := range clusters {
		for _, o := range c.Objects.Sorted() {
			o.Leaves(func(path []string, _ *object.Node, from *origin.Origin) {
				all[o.ID.String()+" "+strings.Join(path, " ")] = from
			})
		}
	}
	return all
}

// said is an origin in one line.
func said(from *origin.Origin) string {
	if from == nil {
		return "nothing"
	}
	parts := []string{from.Kind.String()}
	if !from.At.IsZero() {
		parts = append(parts, from.At.String())
	}
	for _, lost := range from.Lost {
		parts = append(parts, "over", lost.Value, said(lost.Origin))
	}
	return strings.Join(parts, " ")
}

// TestOrigins says for some values of each kind where they come from, and what they overrode.
func TestOrigins(t *testing.T) {
	files := baseFiles(t)
	edit := func(name, before, after string) {
		content := string(files[name].Data)
		if !strings.Contains(content, before) {
			t.Fatalf("%s has no %q", name, before)
		}
		files[name].Data = []byte(strings.Replace(content, before, after, 1))
	}
	edit("catalog/profile.yaml", "  node:", "  env:\n    - {name: A, value: profile}\n    - {name: UCX_TLS, value: all}\n  nodeSelector:\n    pool: mpi\n  node:")
	edit("catalog/runtime.yaml", "  profile: cpu", "  profile: cpu\n  resourcesPerNode:\n    cpu: 1\n  env:\n    - name: A\n      value: runtime\n    - {name: OMPI_MCA_btl_tcp_if_include, value: eth1}")
	got := origins(objectsOf(t, files))
	const (
		runtime  = "ClusterTrainingRuntime.trainer.kubeflow.org mpi "
		node     = runtime + "spec template spec replicatedJobs node template spec template spec containers node "
		launcher = runtime + "spec template spec replicatedJobs launcher template spec template spec containers node "
	)
	for leaf, want := range map[string]string{
		"ResourceQuota vision/lockstep-quota spec hard requests.cpu":                                       "written tenants/vision.yaml:11:10",
		"ResourceQuota vision/lockstep-quota apiVersion":                                                   "constant",
		"LimitRange vision/lockstep-limits spec limits 0 defaultRequest cpu":                               "default tenants/vision.yaml:5:1",
		"Namespace vision metadata labels pod-security.kubernetes.io/enforce":                              "default tenants/vision.yaml:5:1",
		"RoleBinding.rbac.authorization.k8s.io vision/lockstep-tenant-editor subjects vision-editors name": "written tenants/vision.yaml:7:15",
		"NetworkPolicy.networking.k8s.io vision/lockstep-dns spec egress 0 ports 0 port":                   "default overlays/local/cluster.yaml:5:1",
		node + "image":                                                     "written catalog/runtime.yaml:9:10",
		node + "resources requests cpu":                                    "written catalog/runtime.yaml:12:10 over 2 written catalog/profile.yaml:14:10",
		node + "resources limits memory":                                   "derived catalog/profile.yaml:15:13",
		launcher + "resources requests cpu":                                "default catalog/runtime.yaml:5:1",
		node + "env A value":                                               "written catalog/runtime.yaml:15:14 over profile written catalog/profile.yaml:9:24",
		node + "env UCX_TLS value":                                         "written catalog/profile.yaml:10:30 over tcp,self derived catalog/profile.yaml:6:3",
		node + "env SHELL value":                                           "constant",
		node + "env PRTE_MCA_prte_if_include value":                        "derived catalog/profile.yaml:6:3",
		node + "env OMPI_MCA_btl_tcp_if_include value":                     "written catalog/runtime.yaml:16:50 over eth0 derived catalog/profile.yaml:6:3",
		strings.TrimSuffix(node, "containers node ") + "nodeSelector pool": "written catalog/profile.yaml:12:11",
		runtime + "metadata labels lockstep.dev/profile":                   "written catalog/runtime.yaml:10:12",
		runtime + "spec mlPolicy numNodes":                                 "derived catalog/runtime.yaml:5:1",
	} {
		if diff := cmp.Diff(want, said(got[leaf])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", leaf, diff)
		}
	}
}
