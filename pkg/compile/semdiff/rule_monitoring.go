package semdiff

import "slices"

var monitoringKinds = []string{"ServiceMonitor", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig", "AlertmanagerConfig"}

var monitoringRule = &Rule{
	Name: "monitoring", Title: "What is measured, and who is warned",
	Doc: "Scrape targets, alerts and dashboards. They act at once and touch no job. What is removed is a warning: nobody is told any more " +
		"what it told.",
	Says: []Consequence{RestartsNothing},
	claims: func(c *Change) bool {
		dashboard := c.Kind() == "ConfigMap" && c.Object().Root.At("metadata", "labels", "grafana_dashboard") != nil
		return slices.Contains(monitoringKinds, c.Kind()) || dashboard
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			c := part[0]
			switch {
			case c.Whole() && c.Removed():
				effects = append(effects, s.effect(part, RestartsNothing, Warning, "a "+c.Kind()+" is gone: nobody is told any more what it told", c.Object().ID.String()).
					with("lose", "monitoring"))
			default:
				effects = append(effects, s.effect(part, RestartsNothing, Notice, "what is measured or reported changes", shownAll(part)).with("have", "other monitoring"))
			}
		}
		return effects
	},
}
