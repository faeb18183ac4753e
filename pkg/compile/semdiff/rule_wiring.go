package semdiff

import "slices"

var wiringRule = &Rule{
	Name: "wiring", Title: "How the pods of a runtime are put together",
	Doc: "Everything else of a runtime: MPI implementation and version, commands, volumes, scheduling, probes, policies of its JobSet. Jobs that " +
		"are created afterwards get it, because Trainer takes a snapshot of the runtime when a job is created (since 2.3). Another MPI " +
		"implementation or major version is a warning: images must have it too.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *Change) bool {
		if !isRuntime(c) || c.Whole() {
			return false
		}
		return c.Path[0] == "spec" || c.Path[0] == "apiVersion" || len(c.Path) == 3 && slices.Contains([]string{
			"lockstep.dev/mpi-implementation", "lockstep.dev/mpi-version", "lockstep.dev/profile", "trainer.kubeflow.org/framework", "lockstep.dev/gang-timeout",
		}, c.Path[2])
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			severity, title, rest := Notice, "new jobs are put together in another way", "new jobs in another way"
			if slices.ContainsFunc(part, func(c *Change) bool {
				return c.Path.Last() == "lockstep.dev/mpi-implementation" || c.Path.Last() == "lockstep.dev/mpi-version"
			}) {
				severity, title, rest = Warning, "new jobs run with another MPI: their images must have it", "new jobs with another MPI"
			}
			effects = append(effects, s.effect(part, NewJobsOnly, severity, title, shownAll(part)).with("start", rest))
		}
		return effects
	},
}
