package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var receiversRule = &Rule{
	Name: "receivers", Title: "Receivers of alerts",
	Doc: "The receivers of AlertmanagerConfigs: who hears of the jobs of a namespace that failed or make no progress. It acts at once and touches no job. A receiver that gets " +
		"no alerts any more is a warning, and so is a change by a patch. What is in a Secret is not seen here: only which Secret it is.",
	Says:   []Consequence{RestartsNothing, WidensAccess},
	claims: func(c *match.Change) bool { return c.Kind() == "AlertmanagerConfig" },
	judge:  judgeByCause((*Cluster).receivers),
}

func (c *Cluster) receivers(part []*match.Change) Effect {
	change := part[0]
	before, after := addressesOf(change.Before), addressesOf(change.After)
	gone, gained := missingFrom(before, after), missingFrom(after, before)
	severity := Notice
	if slices.ContainsFunc(part, patchOverridesCompiler) {
		severity = Warning
	}
	switch {
	case len(gone) > 0 && len(gained) > 0:
		return c.effect(part, WidensAccess, Warning, "alerts go to other receivers").withDetail(severalText(gone)+" → "+severalText(gained)).
			withClause("have", "alerts sent to "+severalText(gained)+", no longer to "+severalText(gone))
	case len(gone) > 0:
		return c.effect(part, RestartsNothing, Warning, "alerts go to fewer receivers").withDetail(severalText(gone)).
			withClause("lose", "the receivers of alerts "+severalText(gone))
	case len(gained) > 0:
		return c.effect(part, WidensAccess, severity, "alerts go to more receivers").withDetail(severalText(gained)).
			withClause("have", "alerts sent to "+severalText(gained))
	case !change.Whole() && slices.ContainsFunc(part, func(c *match.Change) bool { return c.Path.Has("route") }):
		return c.effect(part, RestartsNothing, Warning, "receivers get other alerts").withClause("have", "other alerts sent to "+severalText(after))
	}
	return c.effect(part, RestartsNothing, severity, "alert routing changes").withClause("have", "another routing of alerts")
}

// addressesOf are those to which an AlertmanagerConfig sends alerts, such as `email ada@example.com` and `slack by the Secret hook`.
func addressesOf(o *object.Object) []string {
	if o == nil {
		return nil
	}
	var all []string
	for receiver := range o.Root.At("spec", "receivers").Items() {
		for way := range receiver.Items() {
			kind, found := strings.CutSuffix(way.Key, "Configs")
			if !found {
				continue
			}
			for address := range way.Items() {
				all = append(all, kind+" "+addressOf(address))
			}
		}
	}
	return all
}

func addressOf(n *object.Node) string {
	secret := cmp.Or(n.Scalar("apiURL", "name"), n.Scalar("urlSecret", "name"))
	if secret != "" {
		return "by the Secret " + secret
	}
	return cmp.Or(n.Scalar("to"), n.Scalar("url"), "by its own settings")
}
