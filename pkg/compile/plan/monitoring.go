package plan

import (
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// Monitoring is who scrapes metrics.
type Monitoring struct {
	Namespace Value[string]
	Labels    []Named[string]
	Interval  Value[string]
	// Alerts and Dashboards say whether ours are compiled.
	Alerts, Dashboards Value[bool]
}

func monitoring(d *decode.Document, spec *v1alpha1.Monitoring) *Monitoring {
	if spec == nil {
		return nil
	}
	return &Monitoring{
		Namespace: writtenValue(d, &spec.Namespace), Labels: namedEntries(d, &spec.Labels),
		Interval:   orDefault(d, &spec.Interval, "often enough for jobs of minutes"),
		Alerts:     boolOrDefault(d, &spec.Alerts, true, "nobody looks at metrics all the time"),
		Dashboards: boolOrDefault(d, &spec.Dashboards, false, "not every cluster has a Grafana that looks for them"),
	}
}
