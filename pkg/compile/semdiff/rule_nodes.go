package semdiff

import "lockstep.dev/lockstep/pkg/mpi"

var nodesRule = &Rule{
	Name: "nodes", Title: "Nodes and slots of runtimes",
	Doc: "How many nodes a job of a runtime has by default, how few and how many it may have, and how many ranks a node runs. Running jobs " +
		"keep theirs. Bounds that become narrower refuse jobs that were possible; another number of slots changes the size of the world, and with " +
		"it batch sizes and learning rates.",
	Says: []Consequence{NewJobsOnly, AdmitsMore, AdmitsLess},
	claims: func(c *Change) bool {
		if !isRuntime(c) || c.Whole() {
			return false
		}
		switch c.Path.Last() {
		case "numNodes", "numProcPerNode", "completions", "parallelism", "runLauncherAsNode", mpi.MinNodesAnnotation, mpi.MaxNodesAnnotation:
			return true
		}
		return false
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			for _, group := range partedBy(part, lastKey) {
				effects = append(effects, s.nodes(group))
			}
		}
		return effects
	},
}

// lastKey is the last key of a change's path. `completions` and `parallelism` follow from the number of nodes.
func lastKey(c *Change) string {
	switch k := c.Path.Last(); k {
	case "completions", "parallelism":
		return "numNodes"
	default:
		return k
	}
}

func (s *scope) nodes(changes []*Change) Effect {
	c := changes[0]
	detail := shownAll(changes)
	towards := trendOf(c.Old, c.New)
	switch c.Path.Last() {
	case mpi.MaxNodesAnnotation:
		// Without the annotation there is no bound.
		if c.Removed() || towards == more && !c.Added() {
			return s.effect(changes, AdmitsMore, Notice, "jobs may have more nodes", detail).with("admit", "more")
		}
		return s.effect(changes, AdmitsLess, Warning, "jobs may have fewer nodes: larger ones are refused", detail).with("admit", "less")
	case mpi.MinNodesAnnotation:
		if c.Removed() || towards == less {
			return s.effect(changes, AdmitsMore, Notice, "jobs may have fewer nodes than before", detail).with("admit", "more")
		}
		return s.effect(changes, AdmitsLess, Warning, "jobs must have more nodes: smaller ones are refused", detail).with("admit", "less")
	case "numProcPerNode", "runLauncherAsNode":
		return s.effect(changes, NewJobsOnly, Notice, "new jobs run another number of ranks per node: the size of their world changes", detail).
			with("run", "another number of ranks per node in new jobs")
	}
	return s.effect(changes, NewJobsOnly, Notice, "new jobs that name no number of nodes get another one", detail).with("start", "new jobs with another number of nodes")
}
