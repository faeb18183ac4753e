package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var monitoringKinds = []string{"ServiceMonitor", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig"}

var monitoringRule = &Rule{
	Name: "monitoring", Title: "What is measured, and what is warned of",
	Doc: "Scrape targets, alerts and dashboards. They act at once and touch no job. What is removed is a warning: what it measured or " +
		"reported is no longer seen. So is an alert that is missing or that a patch words otherwise, and a scrape that asks through another place or with a credential of Prometheus'.",
	Says: []Consequence{RestartsNothing, WidensAccess},
	claims: func(c *match.Change) bool {
		dashboard := c.Kind() == "ConfigMap" && c.Object().Root.At("metadata", "labels", "grafana_dashboard") != nil
		return slices.Contains(monitoringKinds, c.Kind()) || dashboard
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		change := part[0]
		if change.Whole() && change.Removed() {
			return c.effect(part, RestartsNothing, Warning, "a "+change.Kind()+" is gone, and what it measured or reported is no longer seen").
				withClause("lose", "monitoring")
		}
		if silent := missingFrom(alertsOf(change.Before), alertsOf(change.After)); len(silent) > 0 && !change.Whole() {
			return c.effect(part, RestartsNothing, Warning, "alerts are gone: "+severalText(silent)).withClause("lose", "the alerts "+severalText(silent))
		}
		if change.Kind() == "PrometheusRule" && slices.ContainsFunc(part, func(change *match.Change) bool { return change.Path.Has("rules") && patchOverridesCompiler(change) }) {
			return c.effect(part, RestartsNothing, Warning, "a patch says when an alert is raised").withClause("have", "alerts that a patch decides on")
		}
		if asks := slices.DeleteFunc(slices.Clone(part), func(change *match.Change) bool { return change.New == nil || !scrapesElsewhere(change) }); len(asks) > 0 {
			what := asks[0].Path.Short()
			return c.effect(part, WidensAccess, Warning, "what is measured goes through, or to, another place, or with a credential: "+what).withClause("have", "monitoring with "+what)
		}
		return c.effect(part, RestartsNothing, Notice, "what is measured or reported changes").withClause("have", "other monitoring")
	}),
}

// elsewhere are fields by which a scrape goes through or to another place, or takes a credential of Prometheus along.
var elsewhere = []string{
	"proxyUrl", "bearerTokenFile", "bearerTokenSecret", "authorization", "basicAuth", "oauth2", "tlsConfig", "remoteWrite", "staticConfigs", "prober",
}

func scrapesElsewhere(c *match.Change) bool {
	return slices.ContainsFunc(elsewhere, func(key string) bool { return c.Path.Has(key) || c.New.Get(key) != nil })
}

// scrapeAbility is what of a new scrape needs a reviewer.
func scrapeAbility(o *object.Object) []ability {
	for _, list := range []string{"endpoints", "podMetricsEndpoints"} {
		for endpoint := range o.Root.At("spec", list).Items() {
			for _, key := range elsewhere {
				if endpoint.Get(key) != nil {
					return foreignAbility(WidensAccess, "is asked through another place, or with a credential of Prometheus: "+key)(o)
				}
			}
		}
	}
	return nil
}

// alertsOf are the names of the alerts of an object.
func alertsOf(o *object.Object) []string {
	if o == nil {
		return nil
	}
	var names []string
	for group := range o.Root.At("spec", "groups").Items() {
		for rule := range group.Get("rules").Items() {
			if name := rule.Scalar("alert"); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
