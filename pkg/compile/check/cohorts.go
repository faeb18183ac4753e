package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// cohortsMakeSense asks that cohorts have different names and parents that exist, form no circle, and have members.
func cohortsMakeSense(c *plan.Cluster, list *diag.List) {
	if c.Queueing == nil {
		return
	}
	used, complete := membersOfCohorts(c)
	for i, cohort := range c.Queueing.Cohorts {
		if i > 0 && c.Queueing.Cohorts[i-1].Name.V == cohort.Name.V {
			list.Errorf(diag.CohortTwice, cohort.Name.At, "the cohort `%s` is there twice", cohort.Name.V).
				Also(c.Queueing.Cohorts[i-1].Name.At, "also here").Helpf("put their shares into one")
			continue
		}
		cohortExists(c, cohort.Parent, list)
		if at := cohortCycle(c.Queueing, cohort); at != nil {
			list.Errorf(diag.CohortCycle, cohort.Parent.At, "the cohort `%s` is its own ancestor: Kueue stops all queues of the circle", cohort.Name.V).
				Also(at.Parent.At, "the circle goes on here").Helpf("take one `parent` out")
		}
		if !used[cohort.Name.V] && complete {
			list.Warnf(diag.CohortUnused, cohort.Name.At, "no tenant of `%s` is in the cohort `%s`", c.Name.V, cohort.Name.V).
				Helpf("name it in `queue.cohort` of tenants, or remove it")
		}
	}
}

// membersOfCohorts are the cohorts with a tenant in them or below them. They are not complete where a spec was left out, or where a
// tenant names a cohort that is not there and may be meant.
func membersOfCohorts(c *plan.Cluster) (used map[string]bool, complete bool) {
	used, complete = map[string]bool{}, !c.Partial
	for _, t := range c.Tenants {
		if t.Queue == nil {
			continue
		}
		for name := t.Queue.Cohort.V; name != "" && !used[name]; {
			cohort := c.Queueing.Cohort(name)
			if cohort == nil {
				complete = false
				break
			}
			used[name] = true
			name = cohort.Parent.V
		}
	}
	return used, complete
}

// cohortCycle returns the cohort that leads back to a cohort, or nil.
func cohortCycle(q *plan.Queueing, from *plan.Cohort) *plan.Cohort {
	at := from
	for range q.Cohorts {
		next := q.Cohort(at.Parent.V)
		switch next {
		case nil:
			return nil
		case from:
			return at
		}
		at = next
	}
	return nil
}

// tenantsInKnownCohorts asks that the cohort of a tenant exists on its clusters that queue.
func tenantsInKnownCohorts(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.Queue != nil {
			cohortExists(c, t.Queue.Cohort, list)
		}
	}
}

func cohortExists(c *plan.Cluster, name plan.Value[string], list *diag.List) {
	if name.V == "" || c.Queueing.Cohort(name.V) != nil {
		return
	}
	known := make([]string, 0, len(c.Queueing.Cohorts))
	for _, cohort := range c.Queueing.Cohorts {
		known = append(known, cohort.Name.V)
	}
	report := list.Errorf(diag.UnknownCohort, name.At, "the cluster `%s` has no cohort `%s`", c.Name.V, name.V).
		Also(c.Queueing.APIVersion.At, "cohorts are defined in `queueing`").Suggest(name.V, known)
	if len(report.Help) == 0 {
		report.Helpf("add it to `queueing.cohorts` of the cluster")
	}
}
