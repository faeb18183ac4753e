package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// workload is what Kueue knows of a job that is not over.
type workload struct {
	Tenant, Name string
	Created      time.Time
	// Machines is what it asks for, or has if it is Admitted.
	Machines int
	Admitted bool
}

// judge holds what is seen against the plan.
type judge struct {
	plan Plan
	// entitled is since when a job could have had machines that are guaranteed to its tenant.
	entitled map[string]time.Time

	// Violations say what was seen that the plan rules out, each once.
	violations []string
	// waits are how long entitled jobs waited, those that still wait included, and borrowed is the most that tenants had beyond their own.
	waits    []time.Duration
	borrowed map[string]int
}

func newJudge(plan Plan) *judge {
	return &judge{plan: plan, entitled: map[string]time.Time{}, borrowed: map[string]int{}}
}

// look judges all workloads of a moment.
func (j *judge) look(now time.Time, all []workload) {
	used, inCohort := map[string]int{}, map[string]int{}
	for _, w := range all {
		if w.Admitted {
			used[w.Tenant] += w.Machines
			inCohort[j.plan.Tenants[w.Tenant].Cohort] += w.Machines
		}
	}
	for tenant, share := range j.plan.Tenants {
		if used[tenant] > share.Most {
			j.violate("tenant %s has %d machines, and never more than %d by the plan", tenant, used[tenant], share.Most)
		}
		j.borrowed[tenant] = max(j.borrowed[tenant], used[tenant]-share.Guaranteed)
	}
	for cohort, most := range j.plan.Cohorts {
		if inCohort[cohort] > most {
			j.violate("cohort %s has given %d machines of %d", cohort, inCohort[cohort], most)
		}
	}
	j.noteEntitled(now, all, used)
}

// noteEntitled notes for which jobs their tenants have guaranteed machines left, the oldest first.
func (j *judge) noteEntitled(now time.Time, all []workload, used map[string]int) {
	waiting := slices.DeleteFunc(slices.Clone(all), func(w workload) bool { return w.Admitted })
	slices.SortFunc(waiting, func(a, b workload) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
	is := map[string]bool{}
	for _, w := range waiting {
		if used[w.Tenant]+w.Machines > j.plan.Tenants[w.Tenant].Guaranteed {
			continue
		}
		used[w.Tenant] += w.Machines
		is[w.Name] = true
		if _, known := j.entitled[w.Name]; !known {
			j.entitled[w.Name] = now
		}
	}
	for name, since := range j.entitled {
		waited := now.Sub(since)
		switch {
		case !is[name]:
			j.waits = append(j.waits, waited)
			delete(j.entitled, name)
		case waited > guaranteedWithin:
			j.violate("job %s waits for machines that are guaranteed to its tenant, for more than %v", name, guaranteedWithin)
		}
	}
}

func (j *judge) violate(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(j.violations, text) {
		j.violations = append(j.violations, text)
	}
}
