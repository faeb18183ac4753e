package rule

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var templatesRule = &Rule{
	Name: "templates", Title: "Jobs to begin with",
	Doc: "Templates that users find in the form of the dashboard. A job that was made from one is a copy: it does " +
		"not change. A new template is information. A change, or a template that goes, is a notice, because users run the " +
		"command with their own rights.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *match.Change) bool {
		marked := c.Kind() == "ConfigMap" && c.Object().Root.At("metadata", "labels", mpi.TemplatesLabel) != nil
		return marked && (c.Whole() || c.Path.Is("data", "*"))
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		name := strings.TrimPrefix(part[0].Object().ID.Name, "lockstep-")
		e := c.effect(part, NewJobsOnly, Notice, "a template for jobs changes").withClause("have", "another "+name)
		switch change := part[0]; {
		case change.Added():
			e = c.effect(part, NewJobsOnly, Info, "a template for jobs is new").withClause("get", name)
		case change.Removed():
			e = c.effect(part, NewJobsOnly, Notice, "a template for jobs is gone").withClause("lose", name)
		}
		return e.withDetail(part[0].Object().ID.String())
	}),
}
