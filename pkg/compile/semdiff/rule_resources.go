package semdiff

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
			title, verb := "new jobs request other resources", "request"
			switch direction(part) {
			case more:
				title = "new jobs request more"
			case less:
				title = "new jobs request less"
			}
			effects = append(effects, s.effect(part, NewJobsOnly, Notice, title, shownAll(part)).with(verb, title[len("new jobs request "):]+" for new jobs"))
		}
		return effects
	},
}
