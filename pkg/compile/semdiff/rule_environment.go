package semdiff

import "strings"

var environmentRule = &Rule{
	Name: "environment", Title: "Environment of runtimes",
	Doc: "Variables of the containers of a runtime: those of the MPI implementation, of the fabric, and those that a spec adds. Jobs that " +
		"are created afterwards get them. The order matters only where a variable is made of others.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *Change) bool {
		return isRuntime(c) && !c.Whole() && (c.Path.Has("env") || c.Path.Has("envFrom"))
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			effects = append(effects, s.effect(part, NewJobsOnly, Notice, "new jobs get another environment: "+strings.Join(variables(part), ", "), shownAll(part)).
				with("give", "new jobs another environment"))
		}
		return effects
	},
}

// variables are the names of the variables that change.
func variables(changes []*Change) []string {
	var names []string
	for _, c := range changes {
		for i, key := range c.Path {
			if key == "env" && i+1 < len(c.Path) {
				names = append(names, c.Path[i+1])
			}
		}
	}
	if names = distinct(names); len(names) == 0 {
		return []string{"its order"}
	}
	return names
}
