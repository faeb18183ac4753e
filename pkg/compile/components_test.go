package compile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// ownCharts have the names of ours and show what they are given.
var ownCharts = map[string]string{
	"charts/mpi-controller/Chart.yaml":  "apiVersion: v2\nname: mpi-controller\nversion: 1.0.0\n",
	"charts/mpi-controller/values.yaml": "metrics: {port: 8080, scrapedFrom: \"\"}\npodSecurity: {user: 65532}\nhistory: {storage: \"\"}\n",
	"charts/mpi-controller/templates/values.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata:\n" +
		"  mode: {{ .Values.mode }}\n  port: {{ .Values.metrics.port | quote }}\n  scrapedFrom: {{ .Values.metrics.scrapedFrom | quote }}\n" +
		"  user: {{ .Values.podSecurity.user | quote }}\n" +
		"  history: {{ .Values.history | toJson | quote }}\n",
	"charts/mpi-dashboard/Chart.yaml": "apiVersion: v2\nname: mpi-dashboard\nversion: 1.0.0\n",
	"charts/mpi-dashboard/templates/values.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata:\n" +
		"  all: {{ omit .Values \"global\" | toJson | quote }}\n",
}

// withCluster is the chart, and lines of the spec of the cluster.
func withCluster(lines string) fstest.MapFS {
	files := fstest.MapFS{"overlays/local/cluster.yaml.edit": &fstest.MapFile{Data: []byte(lines + "\n")}}
	for name, text := range ownCharts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// The chart of mpi-controller follows its cluster.
func TestGivenValues(t *testing.T) {
	const component = "  components: [{chart: charts/mpi-controller}]"
	cases := map[string]struct {
		reason  string
		cluster string
		want    map[string]string
	}{
		"Bundled": {
			"the controller runs the jobs, and whoever likes reads its metrics", component,
			map[string]string{"mode": "executor", "port": "8080", "scrapedFrom": "", "user": "65532"},
		},
		"Companion": {
			"the controller stands beside Kubeflow Trainer", "  executor: KubeflowTrainer\n" + component,
			map[string]string{"mode": "companion", "port": "8080", "scrapedFrom": "", "user": "65532"},
		},
		"Monitoring": {
			"the metrics are for Prometheus, and what the component says about them stays",
			"  monitoring: {namespace: watchers}\n  components: [{chart: charts/mpi-controller, values: {metrics: {port: 9090}}}]",
			map[string]string{"mode": "executor", "port": "9090", "scrapedFrom": "watchers", "user": "65532"},
		},
		"OpenShift": {
			"OpenShift assigns the user", "  platform: OpenShift\n" + component,
			map[string]string{"mode": "executor", "port": "8080", "scrapedFrom": "", "user": ""},
		},
		"History": {
			"jobs that are over are kept as the cluster wants it", "  history: {storage: 20Gi, days: 14, storageClass: fast}\n" + component,
			map[string]string{
				"history": `{"days":14,"perJob":"256Mi","perNamespace":"5Gi","storage":"20Gi","storageClass":"fast"}`,
			},
		},
		"No history": {
			"nothing is kept unless the cluster wants it", component, map[string]string{"history": `{"storage":""}`},
		},
		"Dashboard": {
			"the page is where the cluster wants it, and the component keeps its own values",
			"  dashboard: {host: jobs.example.com, issuer: \"https://login.example.com\", groups: [a, b]}\n" +
				"  components: [{chart: charts/mpi-dashboard, values: {login: {secret: mpi-dashboard-login, groups: [a, b]}}}]",
			map[string]string{"all": `{"host":"jobs.example.com","login":{"client":"mpi-dashboard","groups":["a","b"],` +
				`"issuer":"https://login.example.com","secret":"mpi-dashboard-login"},"openshift":false}`},
		},
		"Dashboard of OpenShift": {
			"users log in to OpenShift", "  platform: OpenShift\n  dashboard: {host: x.example.com}\n" +
				"  components: [{chart: charts/mpi-dashboard, values: {login: {groups: [a]}}}]",
			map[string]string{"all": `{"host":"x.example.com","login":{"client":"mpi-dashboard","groups":["a"],` +
				`"secret":"mpi-dashboard-login"},"openshift":true}`},
		},
		"Agreement": {
			"who writes what holds anyway may", "  components: [{chart: charts/mpi-controller, values: {mode: executor}}]",
			map[string]string{"mode": "executor", "port": "8080", "scrapedFrom": "", "user": "65532"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			files := withCluster(c.cluster)
			got := leaves(t, objectsOf(t, withBase(t, files)))
			for key, want := range c.want {
				if value := got["ConfigMap lockstep-system/given data "+key]; value != want {
					t.Errorf("%s: %s is %q, want %q", c.reason, key, value, want)
				}
			}
		})
	}
}

// What a chart has from its cluster, explain says, and affects finds.
func TestGivenValuesAreExplained(t *testing.T) {
	files := withCluster("  executor: KubeflowTrainer\n  components: [{chart: charts/mpi-controller}]")
	found := false
	for _, o := range objectsOf(t, withBase(t, files))[0].Objects.Sorted() {
		if o.ID.Name != "given" {
			continue
		}
		o.Leaves(func(path []string, _ *object.Node, from *origin.Origin) {
			found = found || strings.Join(path, " ") == "data mode" && strings.Contains(from.Why, "`mode: companion` (the executor of the cluster)")
		})
		lines := map[int]bool{}
		for _, at := range o.Rule.Also {
			lines[at.Line] = true
		}
		if !lines[11] {
			t.Errorf("the line of the executor is no source of the chart: %v", lines)
		}
	}
	if !found {
		t.Error("the origin does not say that the cluster gives the mode")
	}
}

// A program that renders no charts says so of each component, once, and not that the chart were broken.
func TestNoRenderer(t *testing.T) {
	_, list := compile.Compile(withBase(t, withCluster("  components: [{chart: charts/mpi-controller}]")), compile.Options{})
	var found []string
	for _, d := range list.Sorted() {
		found = append(found, string(d.Code)+" "+d.Message)
	}
	if len(found) != 1 || !strings.Contains(found[0], "this program renders no charts") {
		t.Error(found)
	}
}

// People read and purge what is kept of their jobs, by the rights that they have to their pods' logs.
func TestRightsToKeptJobs(t *testing.T) {
	files := withCluster("  history: {storage: 20Gi}\n  components: [{chart: charts/mpi-controller}]")
	got := leaves(t, objectsOf(t, withBase(t, files)))
	given, rights := map[string]int{}, []string{"history.lockstep.dev", "keptjobs", "keptjobs/log"}
	for place, value := range got {
		words := strings.Fields(place)
		if words[0] == "ClusterRole.rbac.authorization.k8s.io" && slices.Contains(rights, value) {
			given[words[1]+" "+value]++
		}
	}
	want := map[string]int{
		"lockstep-aggregate-to-view history.lockstep.dev": 1,
		"lockstep-aggregate-to-view keptjobs":             1,
		"lockstep-aggregate-to-view keptjobs/log":         1,
		"lockstep-aggregate-to-edit history.lockstep.dev": 1,
		"lockstep-aggregate-to-edit keptjobs":             1,
		"lockstep-tenant-viewer history.lockstep.dev":     1,
		"lockstep-tenant-viewer keptjobs":                 1,
		"lockstep-tenant-viewer keptjobs/log":             1,
		"lockstep-tenant-editor history.lockstep.dev":     2,
		"lockstep-tenant-editor keptjobs":                 2,
		"lockstep-tenant-editor keptjobs/log":             1,
		"lockstep-tenant-admin history.lockstep.dev":      2,
		"lockstep-tenant-admin keptjobs":                  2,
		"lockstep-tenant-admin keptjobs/log":              1,
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Error(diff)
	}
}
