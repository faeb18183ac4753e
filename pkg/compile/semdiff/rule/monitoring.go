package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var monitoringKinds = []string{"ServiceMonitor", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig", "AlertmanagerConfig"}

var monitoringRule = &Rule{
	Name: "monitoring", Title: "What is measured, and who is warned",
	Doc: "Scrape targets, alerts and dashboards. They act at once and touch no job. What is removed is a warning: nobody is told any more " +
		"what it told.",
	Says: []Consequence{RestartsNothing},
	claims: func(c *match.Change) bool {
		dashboard := c.Kind() == "ConfigMap" && c.Object().Root.At("metadata", "labels", "grafana_dashboard") != nil
		return slices.Contains(monitoringKinds, c.Kind()) || dashboard
	},
	judge: each(func(c *Cluster, part []*match.Change) Effect {
		change := part[0]
		if change.Whole() && change.Removed() {
			return c.effect(part, RestartsNothing, Warning, "a "+change.Kind()+" is gone: nobody is told any more what it told").
				with("lose", "monitoring")
		}
		return c.effect(part, RestartsNothing, Notice, "what is measured or reported changes").with("have", "other monitoring")
	}),
}
