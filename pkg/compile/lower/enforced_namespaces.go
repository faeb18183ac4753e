package lower

import (
	"encoding/json"
	"regexp"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// jobLabel has the namespace of a job in a Prometheus that gives each series the namespace of its target.
const jobLabel = "exported_namespace"

var (
	namespaceWord = regexp.MustCompile(`(^|[^$\w])namespace\b`)
	ownSelector   = regexp.MustCompile(`\bmpi_trainjob_\w+(?:\{[^}]*\})?`)
	foreignSeries = regexp.MustCompile(`\b(?:container_|DCGM_)`)
	// query is a string of a dashboard that names labels.
	query = regexp.MustCompile(`"(expr|query|legendFormat)": ("(?:[^"\\]|\\.)*")`)
)

// annotated changes the labels that annotations name, and the query behind a link to logs.
var annotated = strings.NewReplacer("$labels.namespace", "$labels."+jobLabel, "{namespace=", "{"+jobLabel+"=")

// enforcesNamespaces reports whether who scrapes a cluster replaces the namespaces of jobs.
func enforcesNamespaces(c *plan.Cluster) bool {
	return c.OpenShift && c.Monitoring.Namespace.V == plan.ProjectMonitoring
}

// ofEnforcedNamespaces returns an expression for such a Prometheus. Series of kubelet and GPUs keep their namespaces,
// and ours get theirs back beside them, for a Grafana that asks both stacks of OpenShift at once.
func ofEnforcedNamespaces(expr string) string {
	swap := func(s string) string { return namespaceWord.ReplaceAllString(s, "${1}"+jobLabel) }
	if !foreignSeries.MatchString(expr) {
		return swap(expr)
	}
	return ownSelector.ReplaceAllStringFunc(expr, func(selector string) string {
		return `label_replace(` + swap(selector) + `, "namespace", "$1", "` + jobLabel + `", "(.*)")`
	})
}

// enforceNamespaces changes alerts for such a Prometheus. Its rules never see kubelet's series, so the alerts that need
// them are left out.
func enforceNamespaces(spec *object.Node) {
	groups := spec.Get("groups").Children
	for i := range groups {
		rules := groups[i].Get("rules")
		var kept []object.Node
		for _, rule := range rules.Children {
			expr := rule.Get("expr")
			if foreignSeries.MatchString(expr.Scalar()) {
				continue
			}
			expr.Text = ofEnforcedNamespaces(expr.Text)
			annotations := rule.Get("annotations").Children
			for k := range annotations {
				annotations[k].Text = annotated.Replace(annotations[k].Text)
			}
			kept = append(kept, rule)
		}
		rules.Children = kept
	}
}

// enforcedDashboard changes the text of a dashboard for such a Prometheus.
func enforcedDashboard(text string) string {
	return query.ReplaceAllStringFunc(text, func(found string) string {
		parts := query.FindStringSubmatch(found)
		var asked string
		if err := json.Unmarshal([]byte(parts[2]), &asked); err != nil {
			panic(err) // a file of ours
		}
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(ofEnforcedNamespaces(asked)); err != nil {
			panic(err) // a string
		}
		return `"` + parts[1] + `": ` + strings.TrimSpace(out.String())
	})
}
