package compile_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// TestPatchedOrigins follows values back: through a patch of a spec and through one of an object, to what each of them overrode. No
// leaf of a patched cluster comes from nowhere.
func TestPatchedOrigins(t *testing.T) {
	files := withBase(t, fstest.MapFS{"overlays/local/kustomization.yaml": &fstest.MapFile{Data: []byte(`patches:
- target: {group: lockstep.dev, kind: Tenant, name: vision}
  patch: |-
    - {op: replace, path: /spec/quota/pods, value: 60}
    - {op: add, path: /spec/displayName, value: Sight}
- target: {kind: ResourceQuota}
  patch: |-
    - {op: replace, path: /spec/hard/pods, value: "50"}
`)}})
	clusters, list := compile.Compile(files, compile.Options{Charts: helm.Renderer{}})
	if list.Len() > 0 {
		t.Fatal(text(t, list))
	}
	var got []string
	for _, o := range clusters[0].Objects.Sorted() {
		o.Leaves(func(path []string, leaf *object.Node, from *origin.Origin) {
			if !from.Known() {
				t.Errorf("%s %v comes from nowhere", o.ID, path)
			}
			if from.Kind != origin.Patched {
				return
			}
			line := fmt.Sprintf("%s %s: %s at %s", o.ID, strings.Join(path, "."), leaf.Text, from.At)
			for _, lost := range from.Lost {
				line += fmt.Sprintf(", over %s at %s", lost.Value, lost.Origin.At)
			}
			got = append(got, line)
		})
	}
	want := []string{
		"Namespace vision metadata.annotations.openshift.io/display-name: Sight at overlays/local/kustomization.yaml:5:49",
		"ResourceQuota vision/lockstep-quota spec.hard.pods: 50 at overlays/local/kustomization.yaml:8:51, " +
			"over 60 at overlays/local/kustomization.yaml:4:52, over 40 at tenants/vision.yaml:13:11",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPatchesOneCluster changes a spec for one of two clusters.
func TestPatchesOneCluster(t *testing.T) {
	files := withBase(t, fstest.MapFS{
		"tenants/vision.yaml.edit": &fstest.MapFile{Data: []byte("  clusters: [local, other]\n")},
		"overlays/other/cluster.yaml": &fstest.MapFile{Data: []byte(strings.ReplaceAll(
			string(baseFiles(t)["overlays/local/cluster.yaml"].Data), "name: local", "name: other"))},
		"overlays/other/kustomization.yaml": &fstest.MapFile{Data: []byte(`patches:
- target: {group: lockstep.dev, kind: Tenant}
  patch: |-
    - {op: replace, path: /spec/quota/pods, value: 60}
`)},
	})
	output := compiled(t, files)
	for cluster, pods := range map[string]string{"local": `pods: "40"`, "other": `pods: "60"`} {
		if !strings.Contains(output[cluster+"/tenants/vision/tenant.yaml"], pods) {
			t.Errorf("the quota of %s is not %s", cluster, pods)
		}
	}
}

// TestMonitoringMatchesChart holds what is compiled for Prometheus against what our own chart renders: the monitor must select the
// chart's Service and name one of its ports, the policy must select the pods and name a port of theirs.
func TestMonitoringMatchesChart(t *testing.T) {
	clusters, list := compile.Compile(monitored(t), compile.Options{Charts: helm.Renderer{}})
	if list.Errors() > 0 {
		t.Fatal(text(t, list))
	}
	set := map[string]map[string]any{}
	for _, o := range clusters[0].Objects.Sorted() {
		if o.ID.Namespace == "lockstep-system" {
			set[o.ID.Kind+"/"+o.ID.Name] = o.Root.Value().(map[string]any)
		}
	}
	monitor, service := set["ServiceMonitor/mpi-controller"], set["Service/mpi-controller-metrics"]
	policy, deployment := set["NetworkPolicy/lockstep-metrics"], set["Deployment/mpi-controller"]
	contained(t, "the monitor", at(monitor, "spec", "selector", "matchLabels"), at(service, "metadata", "labels"))
	contained(t, "the policy", at(policy, "spec", "podSelector", "matchLabels"), at(deployment, "spec", "template", "metadata", "labels"))
	named(t, "the monitor", at(monitor, "spec", "endpoints", 0, "port"), at(service, "spec", "ports"))
	named(t, "the policy", at(policy, "spec", "ingress", 0, "ports", 0, "port"), at(deployment, "spec", "template", "spec", "containers", 0, "ports"))
	for kind, want := range map[string]string{"Secret": "kubernetes.io/service-account-token", "ServiceAccount": ""} {
		name, _ := at(monitor, "spec", "endpoints", 0, "authorization", "credentials", "name").(string)
		if token := set[kind+"/"+name]; token == nil || want != "" && at(token, "type") != want {
			t.Errorf("there is no %s %q: Prometheus may not read the metrics", kind, name)
		}
	}
	if got := at(monitor, "metadata", "labels", "release"); got != "prometheus" {
		t.Errorf("the monitor has the label release=%v, for which Prometheus does not look", got)
	}
}

// monitored is the base with our chart and a Prometheus.
func monitored(t *testing.T) fstest.MapFS {
	t.Helper()
	files := withBase(t, fstest.MapFS{"overlays/local/cluster.yaml.edit": &fstest.MapFile{Data: []byte(
		"  monitoring: {namespace: monitoring, labels: {release: prometheus}}\n  components: [{chart: charts/mpi-controller, values: {image: {tag: v1}}}]\n")}})
	copyInto(t, files, "charts/mpi-controller")
	return files
}

// at follows a path of keys and indices.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

func contained(t *testing.T, whose string, selector, labels any) {
	t.Helper()
	wanted, _ := selector.(map[string]any)
	if len(wanted) == 0 {
		t.Errorf("%s selects everything", whose)
	}
	for key, value := range wanted {
		if at(labels, key) != value {
			t.Errorf("%s selects %s=%v, which the chart does not have: %v", whose, key, value, labels)
		}
	}
}

func named(t *testing.T, whose string, name, ports any) {
	t.Helper()
	list, _ := ports.([]any)
	for _, port := range list {
		if name != nil && at(port, "name") == name {
			return
		}
	}
	t.Errorf("%s names the port %v, which is none of %v", whose, name, ports)
}

// copyInto adds a folder of this repository to files.
func copyInto(t *testing.T, files fstest.MapFS, folder string) {
	t.Helper()
	err := fs.WalkDir(repository, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(repository, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
