package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var resourcesRule = &Rule{
	Name: "resources", Title: "CPU, memory and devices of runtimes",
	Doc: "What the pods of a runtime request and may use: CPU, memory, accelerators, huge pages, shared memory. Jobs that are created " +
		"afterwards get it. Whether it still fits machines and quotas the compiler proves on its own.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *match.Change) bool {
		return isRuntime(c) && !c.Whole() && (c.Path.Has("resources") || c.Path.Has("resourcesPerNode") || c.Path.Last() == "sizeLimit")
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		what := map[trend]string{more: "more", less: "less", unknown: "other resources"}[commonTrend(part)]
		if limitsOnly(part) {
			return c.effect(part, NewJobsOnly, Notice, "new jobs may use "+what).withClause("let", "new jobs use "+what)
		}
		return c.effect(part, NewJobsOnly, Notice, "new jobs request "+what).withClause("request", what+" for new jobs")
	}),
}

func limitsOnly(changes []*match.Change) bool {
	return !slices.ContainsFunc(changes, func(c *match.Change) bool { return !c.Path.Has("limits") })
}
