package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var environmentRule = &Rule{
	Name: "environment", Title: "Environment of runtimes",
	Doc: "Variables of the containers of a runtime: those of the MPI implementation, of the fabric, and those that a spec adds. Jobs that " +
		"are created afterwards get them. The order matters only where a variable is made of others. A variable by which programs load other code or ask " +
		"other hosts, that names a new host, or that has a Secret, is a warning.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *match.Change) bool {
		return isRuntime(c) && !c.Whole() && (c.Path.Has("env") || c.Path.Has("envFrom"))
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		severity, title, rest := Notice, "new jobs get another environment: "+strings.Join(changedVariables(part), ", "), "new jobs another environment"
		if found := risksOf(part); len(found) > 0 {
			severity, title, rest = found[0].severity(), title+", which "+found[0].description, rest+", which "+found[0].description
		}
		return c.effect(part, NewJobsOnly, severity, title).withClause("give", rest)
	}),
}

// changedVariables are the names of the variables that change.
func changedVariables(changes []*match.Change) []string {
	var names []string
	for _, c := range changes {
		for i, key := range c.Path {
			if key == "env" && i+1 < len(c.Path) {
				names = append(names, c.Path[i+1])
			}
		}
		if c.Path.Last() == "env" && (c.Old == nil || c.New == nil) {
			for _, list := range []*object.Node{c.Old, c.New} {
				for variable := range list.Items() {
					names = append(names, variable.Scalar("name"))
				}
			}
		}
	}
	if slices.ContainsFunc(changes, func(c *match.Change) bool { return c.Path.Has("envFrom") }) {
		names = append(names, "all variables of a ConfigMap or Secret")
	}
	if names = sortedDistinct(names); len(names) == 0 {
		return []string{"its order"}
	}
	return names
}
