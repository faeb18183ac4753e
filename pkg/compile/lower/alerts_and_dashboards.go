package lower

import (
	"embed"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/mixin"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	alertRule     = origin.Rule("alerts", "a job that failed or does not get on holds machines until somebody looks: the rules are those of mixin/alerts")
	dashboardRule = origin.Rule("dashboards", "the dashboards are those of mixin/dashboards")
)

// alerts compiles the rules of the mixin, a PrometheusRule for each file.
func (b *builder) alerts(c *plan.Cluster) {
	if !c.Monitoring.Alerts.V {
		return
	}
	for name, text := range filesByName(mixin.Alerts, "alerts") {
		var rules map[string]any
		if err := yaml.Unmarshal([]byte(text), &rules); err != nil {
			panic(err) // a file of ours that the tests read, too
		}
		spec := object.FromValue("spec", rules, &c.Monitoring.Alerts.Origin)
		if c.Logs.V != "" {
			addLogsLink(&spec, &c.Logs)
		}
		if c.Docs.V != "" {
			linkRunbooks(&spec, &c.Docs)
		}
		if enforcesNamespaces(c) {
			enforceNamespaces(&spec)
		}
		b.add(alertRule, "monitoring.coreos.com/v1", "PrometheusRule", monitorMeta(c, "lockstep-"+name), spec)
	}
}

// failedJobAlert is the alert of a job whose pods are gone.
const failedJobAlert = "TrainJobMPIFailed"

// addLogsLink gives the alert of failed jobs a link to their logs. When a job began no metric says: a day before its end is what is shown.
func addLogsLink(spec *object.Node, logs *plan.Value[string]) {
	around := func(end string) string {
		return `{{ with printf "(max(mpi_trainjob_phase_start_time_seconds{namespace=%q, trainjob=%q}) ` + end + `) * 1000" $labels.namespace $labels.trainjob | query }}` +
			`{{ . | first | value | printf "%.0f" }}{{ end }}`
	}
	url := strings.NewReplacer("{namespace}", "{{ $labels.namespace }}", "{job}", "{{ $labels.trainjob }}", "{from}", around("- 86400"), "{to}", around("+ 60")).Replace(logs.V)
	groups := spec.Get("groups").Children
	for i := range groups {
		rules := groups[i].Get("rules").Children
		for j := range rules {
			if rules[j].Scalar("alert") == failedJobAlert {
				rules[j].Get("annotations").Put(object.Text("logs_url", url, derivedOrigin(&logs.Origin, "the names and times of the job in place of what is in braces")))
			}
		}
	}
}

// linkRunbooks makes the commands of the mixin, `kubectl mpi explain WORD`, links to the pages that they print.
func linkRunbooks(spec *object.Node, docs *plan.Value[string]) {
	for group := range spec.Get("groups").Items() {
		for rule := range group.Get("rules").Items() {
			runbook := rule.At("annotations", "runbook")
			word, folder := strings.TrimPrefix(runbook.Scalar(), "kubectl mpi explain "), "/failures/"
			if word == rule.Scalar("alert") {
				folder = "/alerts/"
			}
			*runbook = object.Text("runbook_url", docs.V+folder+word, derivedOrigin(&docs.Origin, "the page about the alert"))
		}
	}
}

// dashboards compiles those of the mixin, a ConfigMap for each file, as Grafana's sidecar looks for them.
func (b *builder) dashboards(c *plan.Cluster) {
	if !c.Monitoring.Dashboards.V {
		return
	}
	for name, text := range filesByName(mixin.Dashboards, "dashboards") {
		if enforcesNamespaces(c) {
			text = enforcedDashboard(text)
		}
		metadata := platformMeta(constantText("lockstep-dashboard-" + name))
		metadata.Get("labels").Put(object.Text("grafana_dashboard", "1", nil))
		metadata.Put(object.Text("namespace", c.ControllerNamespace.V, &c.ControllerNamespace.Origin))
		b.add(dashboardRule, "v1", "ConfigMap", metadata, object.Map("data", object.Text(name+".json", text, &c.Monitoring.Dashboards.Origin)))
	}
}

// filesByName returns the files of a folder by their names without ending.
func filesByName(from embed.FS, folder string) map[string]string {
	entries, err := from.ReadDir(folder)
	if err != nil {
		panic(err) // embedded
	}
	texts := make(map[string]string, len(entries))
	for _, entry := range entries {
		text, err := from.ReadFile(folder + "/" + entry.Name())
		if err != nil {
			panic(err) // embedded
		}
		texts[strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))] = string(text)
	}
	return texts
}
