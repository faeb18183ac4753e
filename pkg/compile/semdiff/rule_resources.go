package semdiff

import "slices"

var resourcesRule = &Rule{
	Name: "resources", Title: "CPU, memory and devices of runtimes",
	Doc: "What the pods of a runtime request and may use: CPU, memory, accelerators, huge pages, shared memory. Jobs that are created " +
		"afterwards get it. Whether it still fits machines and quotas the compiler proves on its own.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *Change) bool {
		return isRuntime(c) && !c.Whole() && (c.Path.Has("resources") || c.Path.Has("resourcesPerNode") || c.Path.Last() == "sizeLimit")
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			what := "other resources"
			switch direction(part) {
			case more:
				what = "more"
			case less:
				what = "less"
			}
			if limitsOnly(part) {
				effects = append(effects, s.effect(part, NewJobsOnly, Notice, "new jobs may use "+what, shownAll(part)).with("let", "new jobs use "+what))
				continue
			}
			effects = append(effects, s.effect(part, NewJobsOnly, Notice, "new jobs request "+what, shownAll(part)).with("request", what+" for new jobs"))
		}
		return effects
	},
}

func limitsOnly(changes []*Change) bool {
	return !slices.ContainsFunc(changes, func(c *Change) bool { return !c.Path.Has("limits") })
}
