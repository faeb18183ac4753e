package plan

import (
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// DashboardChart is the name of the chart with the page about jobs.
const DashboardChart = "mpi-dashboard"

// dashboard returns the values of the dashboard's chart.
func dashboard(d *decode.Document, spec *v1alpha1.Dashboard) []Named[any] {
	if spec == nil {
		return nil
	}
	var values []Named[any]
	add := func(name string, from Value[any]) {
		values = append(values, Named[any]{Name: name, Value: inheritedValue(from, from.V, "the dashboard of the cluster")})
	}
	add("host", derivedValue(d, &spec.Host, any(spec.Host), ""))
	add("login.client", derivedValue(d, &spec.Client, any(spec.Client), ""))
	add("login.secret", derivedValue(d, &spec.Secret, any(spec.Secret), ""))
	if spec.Issuer != "" {
		add("login.issuer", derivedValue(d, &spec.Issuer, any(spec.Issuer), ""))
	}
	if spec.Prometheus != "" {
		add("prometheus", derivedValue(d, &spec.Prometheus, any(spec.Prometheus), ""))
	}
	if len(spec.Groups) > 0 {
		groups := make([]any, len(spec.Groups))
		for i, group := range spec.Groups {
			groups[i] = group
		}
		add("login.groups", derivedValue(d, &spec.Groups, any(groups), ""))
	}
	return values
}

// docsAddress returns the address of the pages of docs: the one in the spec, else the dashboard's, else none.
func docsAddress(d *decode.Document, spec *v1alpha1.ClusterSpec) Value[string] {
	if spec.Docs.BaseURL == "" && spec.Dashboard != nil {
		host := writtenValue(d, &spec.Dashboard.Host)
		return inheritedValue(host, "https://"+host.V+"/docs", "the dashboard serves the pages of docs")
	}
	return derivedValue(d, &spec.Docs.BaseURL, strings.TrimRight(spec.Docs.BaseURL, "/"), "")
}
