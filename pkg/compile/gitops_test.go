package compile_test

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// wired compiles a golden case about GitOps.
func wired(t *testing.T, name string) compile.Cluster {
	t.Helper()
	data, err := os.ReadFile("testdata/clusters/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range txtar.Parse(data).Files {
		if !strings.HasPrefix(f.Name, "out/") {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	clusters, list := compile.Compile(withBase(t, files), compile.Options{Charts: helm.Renderer{}})
	if list.Errors() > 0 {
		t.Fatal(text(t, list))
	}
	return clusters[0]
}

// TestStages holds what the engines are told against what is there: each path is a folder with a kustomization, each stage that
// another one waits for exists, every folder is applied by one stage, and the wiring is in no kustomization but its own.
func TestStages(t *testing.T) {
	for name, prefix := range map[string]string{"flux": "./rendered/", "argocd": "dist/"} {
		t.Run(name, func(t *testing.T) {
			c := wired(t, name)
			folders := map[string]int{}
			for _, file := range c.Files {
				if path.Base(file.Path) == "kustomization.yaml" && path.Dir(file.Path) != "local" {
					folders[path.Dir(file.Path)] = 0
				}
				if file.Path == "local/kustomization.yaml" && strings.Contains(string(file.Data), "gitops") {
					t.Error("the kustomization of the cluster has the folder gitops: an engine would be started by whoever applies it")
				}
			}
			stages := map[any]bool{}
			var after []any
			for _, o := range c.Objects.Sorted() {
				value := o.Root.Value()
				folder := at(value, "spec", "path")
				if o.ID.Kind == "Application" {
					folder = at(value, "spec", "source", "path")
				}
				if o.Folder != "gitops" || folder == nil {
					continue
				}
				stages[o.ID.Name] = true
				if strings.HasPrefix(o.ID.Name, "lockstep-jobs-") {
					continue // its folder is in a repository of the tenant
				}
				relative := strings.TrimPrefix(folder.(string), prefix)
				if _, exists := folders[relative]; !exists {
					t.Errorf("%s applies %s, which has no kustomization", o.ID, relative)
				}
				folders[relative]++
				needed, _ := at(value, "spec", "dependsOn").([]any)
				for _, other := range needed {
					after = append(after, at(other, "name"))
				}
			}
			for folder, n := range folders {
				if n != 1 {
					t.Errorf("%s is applied by %d stages", folder, n)
				}
			}
			for _, other := range after {
				if !stages[other] {
					t.Errorf("a stage waits for %v, which does not exist", other)
				}
			}
		})
	}
}

// TestTenantRights holds the rights with which a tenant's own objects are applied against the objects: every one must be admitted, nothing
// that bounds a tenant may be among them, the rights must end at the tenant's namespaces, and a tenant without such objects has none.
func TestTenantRights(t *testing.T) {
	tenantsOf := func(c compile.Cluster) map[string][]object.Object {
		inside := map[string][]object.Object{}
		for _, o := range c.Objects.Sorted() {
			if folder, name := path.Split(o.Folder); folder == "tenants/" {
				if o.ID.Kind != "PersistentVolumeClaim" {
					t.Errorf("%s bounds the tenant and is not applied by the platform", o.ID)
				}
				inside[name] = append(inside[name], o)
			}
		}
		if len(inside) != 1 {
			t.Errorf("%d tenants have objects of their own: one has volumes", len(inside))
		}
		for _, o := range c.Objects.Sorted() {
			for _, prefix := range []string{"lockstep-tenant-", "lockstep-applier-"} {
				tenant, ok := strings.CutPrefix(o.ID.Name, prefix)
				if ok && inside[tenant] == nil && slices.Contains([]string{"AppProject", "Application", "Kustomization", "ServiceAccount", "ClusterRole"}, o.ID.Kind) &&
					!slices.Contains([]string{"admin", "editor", "viewer"}, tenant) {
					t.Errorf("%s is of a tenant without objects of its own", o.ID)
				}
			}
		}
		return inside
	}
	t.Run("flux", func(t *testing.T) {
		c := wired(t, "flux")
		for tenant, inside := range tenantsOf(c) {
			rules, _ := at(find(t, c, "ClusterRole", "lockstep-applier-"+tenant), "rules").([]any)
			for _, o := range inside {
				if !allowed(rules, o.ID) {
					t.Errorf("%s may not be applied: %v", o.ID, rules)
				}
			}
			for _, o := range c.Objects.Sorted() {
				if o.ID.Kind == "ClusterRoleBinding" && at(o.Root.Value(), "roleRef", "name") == "lockstep-applier-"+tenant {
					t.Errorf("%s has its rights everywhere", o.ID)
				}
			}
		}
	})
	t.Run("argocd", func(t *testing.T) {
		c := wired(t, "argocd")
		for tenant, inside := range tenantsOf(c) {
			project := find(t, c, "AppProject", "lockstep-tenant-"+tenant)
			if list, _ := at(project, "spec", "clusterResourceWhitelist").([]any); len(list) > 0 {
				t.Errorf("the project of %s has kinds without namespace: %v", tenant, list)
			}
			kinds, _ := at(project, "spec", "namespaceResourceWhitelist").([]any)
			for _, o := range inside {
				if !slices.ContainsFunc(kinds, func(k any) bool { return at(k, "group") == o.ID.Group && at(k, "kind") == o.ID.Kind }) {
					t.Errorf("the project does not admit %s", o.ID)
				}
			}
		}
	})
}

func find(t *testing.T, c compile.Cluster, kind, name string) any {
	t.Helper()
	for _, o := range c.Objects.Sorted() {
		if o.ID.Kind == kind && o.ID.Name == name {
			return o.Root.Value()
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// TestRetries holds how often Argo CD tries against its version: with the newest commit forever, with the same one not.
func TestRetries(t *testing.T) {
	for version, want := range map[string]string{"": "5 <nil>", "3.1": "5 <nil>", "3.2": "-1 true", "3.10": "-1 true"} {
		data, err := os.ReadFile("testdata/clusters/argocd.txtar")
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{}
		for _, f := range txtar.Parse(data).Files {
			if strings.HasPrefix(f.Name, "out/") {
				continue
			}
			spec := string(f.Data)
			if version != "" {
				spec = strings.Replace(spec, "engine: ArgoCD", "engine: ArgoCD\n    version: \""+version+"\"", 1)
			}
			files[f.Name] = &fstest.MapFile{Data: []byte(spec)}
		}
		clusters, list := compile.Compile(withBase(t, files), compile.Options{Charts: helm.Renderer{}})
		if list.Errors() > 0 {
			t.Fatal(text(t, list))
		}
		retry := at(find(t, clusters[0], "Application", "lockstep-platform"), "spec", "syncPolicy", "retry")
		if got := fmt.Sprint(at(retry, "limit"), " ", at(retry, "refresh")); got != want {
			t.Errorf("version %q: limit and refresh are %s, want %s", version, got, want)
		}
	}
}

// resources are the names in requests of the kinds that tenants may write, written out: the compiler derives them.
var resources = map[string]string{"PersistentVolumeClaim": "persistentvolumeclaims"}

func allowed(rules []any, id object.ID) bool {
	return slices.ContainsFunc(rules, func(rule any) bool {
		groups, _ := at(rule, "apiGroups").([]any)
		names, _ := at(rule, "resources").([]any)
		verbs, _ := at(rule, "verbs").([]any)
		return slices.Contains(groups, any(id.Group)) && slices.Contains(names, any(resources[id.Kind])) &&
			slices.Contains(verbs, any("create")) && slices.Contains(verbs, any("patch")) && slices.Contains(verbs, any("delete"))
	})
}
