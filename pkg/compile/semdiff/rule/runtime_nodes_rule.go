package rule

import (
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var nodesRule = &Rule{
	Name: "nodes", Title: "Nodes and slots of runtimes",
	Doc: "How many nodes a job of a runtime has by default, how few and how many it may have, and how many ranks a node runs. Running jobs " +
		"keep theirs. Bounds that become narrower refuse jobs that were possible; another number of slots changes the size of the world, and with " +
		"it batch sizes and learning rates.",
	Says: []Consequence{NewJobsOnly, AdmitsMore, AdmitsLess},
	claims: func(c *match.Change) bool {
		if !isRuntime(c) || c.Whole() {
			return false
		}
		switch c.Path.Last() {
		case "numNodes", "numProcPerNode", "completions", "parallelism", "runLauncherAsNode", mpi.MinNodesAnnotation, mpi.MaxNodesAnnotation:
			return true
		}
		return false
	},
	judge: judgeByCauseAnd(lastKey, (*Cluster).nodesEffect),
}

func (c *Cluster) nodesEffect(changes []*match.Change) Effect {
	change := changes[0]
	towards := trendOf(change.Old, change.New)
	switch change.Path.Last() {
	case mpi.MaxNodesAnnotation:
		// Without the annotation nothing is bounded.
		if change.Removed() || towards == more && !change.Added() {
			return c.effect(changes, AdmitsMore, Notice, "jobs may have more nodes").withClause("admit", "more")
		}
		return c.effect(changes, AdmitsLess, Warning, "jobs may have fewer nodes: larger ones are refused").withClause("admit", "less")
	case mpi.MinNodesAnnotation:
		if change.Removed() || towards == less {
			return c.effect(changes, AdmitsMore, Notice, "jobs may have fewer nodes than before").withClause("admit", "more")
		}
		return c.effect(changes, AdmitsLess, Warning, "jobs must have more nodes: smaller ones are refused").withClause("admit", "less")
	case "numProcPerNode", "runLauncherAsNode":
		return c.effect(changes, NewJobsOnly, Notice, "new jobs run another number of ranks per node: the size of their world changes").
			withClause("run", "another number of ranks per node in new jobs")
	}
	return c.effect(changes, NewJobsOnly, Notice, "new jobs that name no number of nodes get another one").withClause("start", "new jobs with another number of nodes")
}
