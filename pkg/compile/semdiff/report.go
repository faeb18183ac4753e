package semdiff

import (
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// Report is what a change of the specs means.
type Report struct {
	// Verdict is one paragraph that makes sense without the rest.
	Verdict string
	// Docs is the address of the pages about rules and codes, as a Cluster has it; empty for none.
	Docs string
	// YAML makes formats without folds show how objects differ, too.
	YAML bool
	// Clauses are the parts of the verdict, the most severe first, with how severe they are; none where there is nothing to tell one from the other.
	Clauses []group.Clause
	// Entries are sorted: the most severe severity first, then consequence, blast radius and place.
	Entries []group.Entry
	Totals  Totals
	// Clusters are those that were compared, sorted by name.
	Clusters []ClusterReport
	// Findings are what the compiler says about the specs.
	Findings group.Findings
}

// Totals count.
type Totals struct {
	// Units is how many pairs of units were compared.
	Units int
	match.Totals
	// BySeverity has the number of entries, indexed by Severity.
	BySeverity [rule.Critical + 1]int
}

// ClusterReport is one cluster that was compared.
type ClusterReport struct {
	Name string
	// OnlyBefore and OnlyAfter say that only one side has the cluster.
	OnlyBefore, OnlyAfter bool
	// Objects is how many objects it has, each counted once for both sides; Changed is how many differ.
	Objects, Changed int
	// Before and After are what was proven; nil where the caller did not say. Those who draw reachability take it from here.
	Before, After *Proven
	// Quotas are the machines of tenants and cohorts, before and after, sorted; those of units that were compared.
	Quotas []rule.Quota
}

// Proven is what was proven about one state of a cluster.
type Proven struct {
	Reach  isolation.Reachability
	Rights []access.Held
	// Ranges are the addresses of pods and Services as the cluster has them, `10.128.0.0/14`; empty where it does not say.
	Ranges []string
}

// withLeft adds the reach of namespaces that are no longer compiled and stay on the cluster, as it was.
func (p *Proven) withLeft(before *Proven, namespaces []string) *Proven {
	if p == nil || before == nil || len(namespaces) == 0 {
		return p
	}
	all := *p
	all.Reach.Of, all.Reach.Selections = slices.Clone(p.Reach.Of), maps.Clone(before.Reach.Selections)
	maps.Copy(all.Reach.Selections, p.Reach.Selections)
	for _, own := range before.Reach.Of {
		if slices.Contains(namespaces, own.Namespace) {
			all.Reach.Of = append(all.Reach.Of, own)
		}
	}
	return &all
}

// Fails reports whether some entry, or what is beside the entries, reaches a threshold.
func (r *Report) Fails(t group.Threshold) bool {
	for i := range r.Entries {
		if t.Met(&r.Entries[i]) {
			return true
		}
	}
	return t.MetByFindings(&r.Findings)
}

// Worst is the most severe severity of the entries.
func (r *Report) Worst() rule.Severity { return group.WorstSeverity(r.Entries) }
