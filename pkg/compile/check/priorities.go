package check

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// reservedPriorities begin the names of Kubernetes' own classes; the API server refuses others with it
// (https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/).
const reservedPriorities = "system-"

// priorityNamesDiffer asks for names of their own and at most one default, because a job has one priority.
func priorityNamesDiffer(c *plan.Cluster, list *diag.List) {
	var standard *plan.Priority
	for i := range c.Priorities {
		p := &c.Priorities[i]
		if strings.HasPrefix(p.Name.V, reservedPriorities) {
			list.Errorf(diag.ReservedPriority, p.Name.At, "the priority `%s` is reserved", p.Name.V).
				Notef("names that begin with `system-` are Kubernetes' own").Helpf("choose another name")
		}
		if i > 0 && c.Priorities[i-1].Name.V == p.Name.V {
			list.Errorf(diag.PriorityTwice, p.Name.At, "the priority `%s` is there twice", p.Name.V).Also(c.Priorities[i-1].Name.At, "also here").
				Helpf("rename or remove one")
		}
		if p.Default.V && standard != nil {
			list.Errorf(diag.PriorityTwice, p.Default.At, "`%s` and `%s` are both the default priority", standard.Name.V, p.Name.V).
				Also(standard.Default.At, "also here").Helpf("keep `default` in one of them")
		}
		if p.Default.V {
			standard = p
		}
	}
}

// priorityExists asks that a priority that a runtime names is one of the cluster's. A cluster without any has one for all jobs: none.
func priorityExists(c *plan.Cluster, list *diag.List) {
	if len(c.Priorities) == 0 {
		return
	}
	names := make([]string, len(c.Priorities))
	for i := range c.Priorities {
		names[i] = c.Priorities[i].Name.V
	}
	for _, r := range c.Runtimes {
		wanted := r.Gang.Priority
		if wanted.V == "" || c.Priority(wanted.V) != nil {
			continue
		}
		report := list.Errorf(diag.UnknownPriority, wanted.At, "the cluster `%s` has no priority `%s`", c.Name.V, wanted.V).
			Also(c.Name.At, "defined here")
		if report.Suggest(wanted.V, names); len(report.Help) == 0 {
			report.Helpf("%s", choicesText("priorities are", names, ""))
		}
	}
}

// choicesText lists names, or says what to do when there are none.
func choicesText(are string, names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return are + " `" + strings.Join(names, "`, `") + "`"
}
