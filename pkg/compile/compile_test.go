package compile_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// compiled compiles files that must be right and returns the output by path.
func compiled(t *testing.T, root fs.FS) map[string]string {
	t.Helper()
	clusters, list := compile.Compile(root, compile.Options{Charts: helm.Renderer{}})
	if list.Errors() > 0 {
		t.Fatalf("does not compile:\n%s", text(t, list))
	}
	output := map[string]string{}
	for _, c := range clusters {
		for _, file := range c.Files {
			output[file.Path] = string(file.Data)
		}
	}
	return output
}

// TestClusters compiles right specs. A case shows the files that differ from those of the base alone.
func TestClusters(t *testing.T) {
	base := compiled(t, baseFiles(t))
	golden.Run(t, "testdata/clusters", func(t *testing.T, c *golden.Case) {
		for name, content := range compiled(t, withBase(t, c.Files)) {
			// Policies are long and nearly the same everywhere: one case shows them.
			if policies := path.Base(name) == "admission.yaml"; policies && c.Name != "accelerators" {
				continue
			}
			if base[name] != content || c.Name == "base" {
				c.Output(name, content)
			}
		}
	})
}

// TestDashboard keeps what the chart of the dashboard makes of `dashboard` of a Cluster.
func TestDashboard(t *testing.T) {
	chart := ourChart(t, "mpi-dashboard")
	golden.Run(t, "testdata/dashboard", func(t *testing.T, c *golden.Case) {
		maps.Copy(c.Files, chart)
		const file = "local/platform/mpi-dashboard.yaml"
		c.Output(file, compiled(t, withBase(t, c.Files))[file])
	})
}

// TestRight compiles whole bundles as teams write them, each with the chart of the controller: nothing may be found in any of them. They are
// what keeps rules from crying wolf, so a finding here is a mistake of the rule unless the bundle is really wrong.
func TestRight(t *testing.T) {
	needsSchemas(t)
	controller := ourChart(t, "mpi-controller")
	golden.Run(t, "testdata/right", func(t *testing.T, c *golden.Case) {
		t.Parallel()
		maps.Copy(c.Files, controller)
		if list := diagnose(c.Files, ""); len(list.Sorted()) > 0 {
			t.Errorf("something is wrong:\n%s", text(t, list))
		}
	})
}

// ourChart returns the files of a chart of this repository.
func ourChart(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	if err := fs.WalkDir(repository, "charts/"+name, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(repository, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// repository is the root of this repository, whose own catalog, tenants and overlays are compiled.
var repository = os.DirFS("../..")

// TestRepository keeps the output of the repository's own specs for the local cluster. The chart of the controller has tests of its
// own, and the other clusters are applied to a real API server by the integration tests.
func TestRepository(t *testing.T) {
	golden.File(t, "testdata/repository.txtar", func(t *testing.T, c *golden.Case) {
		for name, content := range compiled(t, repository) {
			if file := path.Base(name); strings.HasPrefix(name, "local/") && file != "mpi-controller.yaml" && file != "admission.yaml" {
				c.Output(name, content)
			}
		}
	})
}

// TestRepositoryContent says in numbers what the repository offers, so that an accepted golden file cannot lose it.
func TestRepositoryContent(t *testing.T) {
	clusters, list := compile.Compile(repository, compile.Options{Charts: helm.Renderer{}, Cluster: "local"})
	if list.Errors()+list.Warnings() > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, diagnostics:\n%s", len(clusters), text(t, list))
	}
	got := map[string]int{}
	for _, o := range clusters[0].Objects.Sorted() {
		if o.File != "mpi-controller" {
			got[o.ID.Kind]++
		}
	}
	want := map[string]int{
		"Namespace": 3, "ClusterRole": 6, "ClusterRoleBinding": 2, "ClusterTrainingRuntime": 8,
		"ResourceQuota": 2, "LimitRange": 2, "NetworkPolicy": 4, "RoleBinding": 8, "ServiceAccount": 2,
		"ValidatingAdmissionPolicy": 6, "ValidatingAdmissionPolicyBinding": 6, "PersistentVolumeClaim": 1,
		"MutatingAdmissionPolicy": 1, "MutatingAdmissionPolicyBinding": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects by kind (-want +got):\n%s", diff)
	}
}

// TestReferenceSetUps compiles the bundles that docs/guide/reference-clusters.md argues for: nothing is wrong with them, and their default job fits.
func TestReferenceSetUps(t *testing.T) {
	clusters, list := compile.Compile(os.DirFS("../../reference"), compile.Options{})
	if list.Errors()+list.Warnings() > 0 {
		t.Fatal(text(t, list))
	}
	got := map[string]int{}
	for _, c := range clusters {
		for _, o := range c.Objects.Sorted() {
			if o.ID.Kind == "ClusterTrainingRuntime" {
				got[c.Name]++
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"two-nodes": 4, "eight-nodes": 4, "sixteen-nodes": 4}, got); diff != "" {
		t.Errorf("runtimes by cluster (-want +got):\n%s", diff)
	}
}

// TestKustomize builds the output as `kubectl apply -k` does: every object is there once, namespaces before what is in them.
func TestKustomize(t *testing.T) {
	clusters, list := compile.Compile(repository, compile.Options{Charts: helm.Renderer{}, Cluster: "local"})
	if list.Errors() > 0 {
		t.Fatal(text(t, list))
	}
	disk := filesys.MakeFsInMemory()
	for _, file := range clusters[0].Files {
		if err := disk.WriteFile("/"+file.Path, file.Data); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/local")
	if err != nil {
		t.Fatal(err)
	}
	if built.Size() != clusters[0].Objects.Len() {
		t.Errorf("kustomize builds %d objects, %d were compiled", built.Size(), clusters[0].Objects.Len())
	}
	made := map[string]bool{"": true}
	for _, r := range built.Resources() {
		if r.GetKind() == "Namespace" {
			made[r.GetName()] = true
		}
		if !made[r.GetNamespace()] {
			t.Errorf("%s %s comes before its namespace %s", r.GetKind(), r.GetName(), r.GetNamespace())
		}
	}
}

// TestPodSecurity asks Kubernetes' own judge: the pods of every runtime are admitted at level `restricted`.
func TestPodSecurity(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	pods := runtimePods(t, compiled(t, repository)["local/runtimes/runtimes.yaml"])
	if len(pods) != 16 {
		t.Fatalf("%d pod templates, want launcher and node of 8 runtimes", len(pods))
	}
	for name, pod := range pods {
		result := policy.AggregateCheckResults(checks.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
		if !result.Allowed {
			t.Errorf("%s: %s (%s)", name, result.ForbiddenReason(), result.ForbiddenDetail())
		}
	}
}

func runtimePods(t *testing.T, content string) map[string]corev1.PodTemplateSpec {
	t.Helper()
	pods := map[string]corev1.PodTemplateSpec{}
	for _, document := range strings.Split(content, "---\n")[1:] {
		var runtime struct {
			Metadata struct{ Name string }
			Spec     struct {
				Template struct {
					Spec struct {
						ReplicatedJobs []struct {
							Name     string
							Template batchv1.JobTemplateSpec
						}
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(document), &runtime); err != nil {
			t.Fatal(err)
		}
		for _, job := range runtime.Spec.Template.Spec.ReplicatedJobs {
			pods[runtime.Metadata.Name+"/"+job.Name] = job.Template.Spec.Template
		}
	}
	return pods
}

// shuffled lists folders in a random order, as file systems may.
type shuffled struct{ fstest.MapFS }

func (s shuffled) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := s.MapFS.ReadDir(name)
	rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	return entries, err
}

// TestDeterminism compiles many tenants and runtimes again and again, each time listed in another order, and once with the
// documents in other files: the bytes are the same.
func TestDeterminism(t *testing.T) {
	files := manyFiles(t)
	want := compiled(t, files)
	for range 10 {
		if diff := cmp.Diff(want, compiled(t, shuffled{files})); diff != "" {
			t.Fatalf("another order of files gives another output (-want +got):\n%s", diff)
		}
	}
	var all bytes.Buffer
	for name, file := range files {
		if strings.HasPrefix(name, "tenants/") {
			fmt.Fprintf(&all, "---\n%s", file.Data)
			delete(files, name)
		}
	}
	files["tenants/all.yaml"] = &fstest.MapFile{Data: all.Bytes()}
	if diff := cmp.Diff(want, compiled(t, files)); diff != "" {
		t.Errorf("other files with the same documents give another output (-want +got):\n%s", diff)
	}
}

func manyFiles(t *testing.T) fstest.MapFS {
	files := baseFiles(t)
	tenant, runtime := string(files["tenants/vision.yaml"].Data), string(files["catalog/runtime.yaml"].Data)
	for i := range 20 {
		name := fmt.Sprintf("t%d", i)
		files["tenants/"+name+".yaml"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(tenant, "vision", name))}
		files["catalog/r"+name+".yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(runtime, "name: mpi", "name: r"+name, 1))}
	}
	return files
}

// TestOneCluster compiles what was asked for, with the same bytes as when all are compiled.
func TestOneCluster(t *testing.T) {
	files := baseFiles(t)
	other := strings.Replace(string(files["overlays/local/cluster.yaml"].Data), "name: local", "name: other", 1)
	files["overlays/other/cluster.yaml"] = &fstest.MapFile{Data: []byte(other)}
	all, _ := compile.Compile(files, compile.Options{Charts: helm.Renderer{}})
	one, list := compile.Compile(files, compile.Options{Charts: helm.Renderer{}, Cluster: "other"})
	if list.Errors() > 0 || len(all) != 2 || len(one) != 1 {
		t.Fatalf("all: %d, one: %d, %s", len(all), len(one), text(t, list))
	}
	if diff := cmp.Diff(map[string][]emit.File{"other": all[1].Files}, map[string][]emit.File{one[0].Name: one[0].Files}); diff != "" {
		t.Errorf("(-all +one):\n%s", diff)
	}
	if _, list := compile.Compile(files, compile.Options{Charts: helm.Renderer{}, Cluster: "othr"}); !strings.Contains(text(t, list), "did you mean `other`?") {
		t.Errorf("an unknown cluster gives no suggestion:\n%s", text(t, list))
	}
}

// TestOneClusterWithAMistake: where the spec of a cluster cannot be read, that is said, and not that there is no such cluster.
func TestOneClusterWithAMistake(t *testing.T) {
	files := baseFiles(t)
	replaced("overlays/local/cluster.yaml", "name: local", "nme: local")(files)
	if got := text(t, diagnose(files, "local")); strings.Contains(got, string(diag.UnknownCluster)) || !strings.Contains(got, "`nme`") {
		t.Errorf("got:\n%s", got)
	}
}

// TestOneClusterSaysNothingOfOthers: whether a variant is anywhere takes all clusters, so that with one of them nothing is said.
func TestOneClusterSaysNothingOfOthers(t *testing.T) {
	files := baseFiles(t)
	profile, runtime := string(files["catalog/profile.yaml"].Data), string(files["catalog/runtime.yaml"].Data)
	files["catalog/rack.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(profile, "name: cpu", "name: rack", 1))}
	files["catalog/mpi-rack.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(strings.Replace(runtime, "name: mpi", "name: mpi-rack", 1), "profile: cpu", "profile: rack", 1))}
	files["overlays/local/cluster.yaml"].Data = append(files["overlays/local/cluster.yaml"].Data, "  capacity: [{profile: cpu, nodes: 8}]\n"...)
	files["tenants/vision.yaml"].Data = append(files["tenants/vision.yaml"].Data, "  variants: [{name: vision-mpi, runtime: mpi-rack}]\n"...)
	for cluster, want := range map[string]bool{"": true, "local": false} {
		if got := text(t, diagnose(files, cluster)); strings.Contains(got, string(diag.VariantNowhere)) != want {
			t.Errorf("--cluster %q, want %s %t:\n%s", cluster, diag.VariantNowhere, want, got)
		}
	}
}

// readsClock reports whether an expression asks the machine for the time or the zone.
func readsClock(s *ast.SelectorExpr) bool {
	of, isName := s.X.(*ast.Ident)
	return isName && of.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Local", "LoadLocation"}, s.Sel.Name)
}

// TestPure holds the rule that only emit/disk touches the machine.
//
// With that nothing reads LANG, LC_ALL or TZ: these are in the environment, which is package os, and in the clock and the zone of package
// time. So the same specs give the same bytes on every machine; TestSameBytes sees it.
func TestPure(t *testing.T) {
	forbidden := []string{"os", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "os/exec", "io/ioutil"}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "emit/disk") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, isSelector := n.(*ast.SelectorExpr); isSelector && readsClock(selector) {
				t.Errorf("%s uses time.%s", name, selector.Sel.Name)
			}
			return true
		})
		for _, i := range file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			// What makes the schemas and what tests them does not run in the compiler.
			if strings.HasPrefix(name, "schema/gen/") || strings.HasPrefix(name, "schema/pinned/") || strings.HasPrefix(name, "schema/corpus/") {
				continue
			}
			lowerSeesSpecs := strings.HasPrefix(name, "lower/") && strings.HasSuffix(path, "api/v1alpha1") && strings.HasPrefix(path, "lockstep.dev")
			if slices.Contains(forbidden, path) || strings.HasPrefix(path, "k8s.io/client-go") || lowerSeesSpecs {
				t.Errorf("%s imports %s", name, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
