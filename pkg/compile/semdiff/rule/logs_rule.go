package rule

import (
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var logsRule = &Rule{
	Name: "logs", Title: "Where logs and docs are",
	Doc: "The links that people get to the logs of jobs that are over, and to the pages about reasons. Where logs really go is decided " +
		"by who collects them.",
	Says: []Consequence{RestartsNothing},
	claims: func(c *match.Change) bool {
		return isRuntime(c) && !c.Whole() && (c.Path.Is("metadata", "annotations", mpi.LogsAnnotation) ||
			c.Path.Is("metadata", "annotations", mpi.DocsAnnotation))
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		if part[0].Path.Last() == mpi.DocsAnnotation {
			return c.effect(part, RestartsNothing, Notice, "messages link to other pages about reasons, or to none").
				withClause("have", "other links to docs")
		}
		if part[0].New == nil {
			return c.effect(part, RestartsNothing, Warning, "users no longer find the logs").withClause("lose", "the link to the logs of jobs")
		}
		return c.effect(part, RestartsNothing, Notice, "people are sent to another place for logs").withClause("have", "another link to the logs of jobs")
	}),
}
