package group

import (
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Entry is a group of effects with one cause: the same rule, the same consequence, the same lines of the specs.
type Entry struct {
	Rule        string
	Consequence rule.Consequence
	// Severity and Jobs are the most severe of its effects.
	Severity rule.Severity
	Jobs     rule.JobsImpact
	// Title says what happens, without whom it happens to.
	Title string
	// Clause is the clause of the verdict. It speaks of speaksOf; otherClauses are as many like it about others.
	Clause       rule.Clause
	speaksOf     AffectedNames
	otherClauses int
	// Before and After are the places of the specs that are responsible; nowhere where a side has none.
	Before, After source.Span
	Help          string
	// Count is how many effects there are; Values how many changed values are behind them.
	Count, Values int
	Affected      AffectedNames
	// Samples are a few of the effects, the most severe first.
	Samples []rule.Effect
	// JobsOf are the tenants whose running jobs are meant, sorted.
	JobsOf []string
	// AllJobs reports whether an effect is about the jobs of no tenant in particular.
	AllJobs bool
	// Waived are the waivers of specs that accept what the entry is about, where there are some.
	Waived []Waived
}

// AffectedNames is whom the effects of an entry happen to. Lists are sorted, each name once.
type AffectedNames struct {
	Clusters   []string `json:"clusters,omitempty"`
	Tenants    []string `json:"tenants,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Runtimes   []string `json:"runtimes,omitempty"`
}

// Size is the number of names.
func (b *AffectedNames) Size() int {
	return len(b.Clusters) + len(b.Tenants) + len(b.Namespaces) + len(b.Runtimes)
}

// WorstSeverity is the most severe severity of entries.
func WorstSeverity(entries []Entry) rule.Severity {
	worst := rule.Info
	for i := range entries {
		worst = max(worst, entries[i].Severity)
	}
	return worst
}
