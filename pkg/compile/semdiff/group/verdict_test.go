package group

import (
	"testing"

	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// TestClausesJobs: what becomes of running jobs is as severe as the change that does it, and quiet where they go on.
func TestClausesJobs(t *testing.T) {
	entry := func(severity rule.Severity, jobs rule.JobsImpact) Entry {
		return Entry{Severity: severity, Jobs: jobs, Clause: rule.Clause{Verb: "lose", Rest: "quota", Of: "vision"}}
	}
	for name, tc := range map[string]struct {
		entries []Entry
		want    rule.Severity
	}{
		"Untouched": {[]Entry{entry(rule.Critical, rule.JobsUntouched)}, rule.Info},
		"Included":  {[]Entry{entry(rule.Critical, rule.JobsIncluded)}, rule.Info},
		"Stopped":   {[]Entry{entry(rule.Critical, rule.JobsStopped)}, rule.Critical},
		"Other":     {[]Entry{entry(rule.Critical, rule.JobsUntouched), entry(rule.Warning, rule.JobsPreemptible)}, rule.Warning},
	} {
		t.Run(name, func(t *testing.T) {
			clauses := Clauses(tc.entries, &Findings{}, nil)
			if got := clauses[len(clauses)-1]; got.Severity != tc.want {
				t.Errorf("%q is %v, want %v", got.Text, got.Severity, tc.want)
			}
		})
	}
}
