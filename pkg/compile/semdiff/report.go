package semdiff

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Report is what a change of the specs means.
type Report struct {
	// Verdict is one paragraph that makes sense without the rest.
	Verdict string
	// Entries are sorted: the gravest severity first, then consequence, blast radius and place.
	Entries []Entry
	Totals  Totals
	// Clusters are those that were compared, sorted by name.
	Clusters []ClusterReport
	// Findings are what the compiler says about the specs.
	Findings Findings
}

// Totals count.
type Totals struct {
	// Units is how many pairs of units were compared, Objects how many objects they have, each counted once for both sides.
	Units, Objects int
	// Added, Removed, Changed and Renamed count objects; Changed are those of which a value differs.
	Added, Removed, Changed, Renamed int
	// Values is how many values differ, an added or removed object being one.
	Values int
	// BySeverity has the number of entries, indexed by Severity.
	BySeverity [len(severityNames)]int
}

// ClusterReport is one cluster that was compared.
type ClusterReport struct {
	Name string
	// OnlyBefore and OnlyAfter say that only one side has the cluster.
	OnlyBefore, OnlyAfter bool
	// Objects is how many objects it has, each counted once for both sides; Changed is how many differ.
	Objects, Changed int
	// Before and After are what was proven; nil where the caller did not say. Those who draw reachability take it from here.
	Before, After *Facts
	// Quotas are the machines of tenants and cohorts, before and after, sorted; those of units that were compared.
	Quotas []Quota
}

// Facts are what was proven about one state of a cluster.
type Facts struct {
	Reach  isolation.Reachability
	Rights []access.Held
	// Ranges are the addresses of pods and Services as the cluster has them, `10.128.0.0/14`; empty where it does not say.
	Ranges []string
}

// Tenant is somebody who lives on a cluster.
type Tenant struct {
	Name string
	// Namespaces are its own; Runtimes are those that it may use.
	Namespaces, Runtimes []string
}

// Quota is how much of a resource a queue, a cohort or a namespace has, before and after, in the resource's unit; -1 is no bound.
type Quota struct {
	// Holder is `tenant vision`, `cohort research` or `namespace vision`; Flavor is the profile, "" for a ResourceQuota.
	Holder, Flavor, Resource string
	Before, After            Amounts
}

// Amounts are the numbers of one side of a Quota, as Kubernetes writes them. Empty is none.
type Amounts struct{ Nominal, Borrowing, Lending string }

// Findings compare what the compiler said about both sides.
type Findings struct {
	// New are those that the change brings, Fixed those that it takes away. Findings are equal by code, file and message.
	New, Fixed []*diag.Diagnostic
	// Unproven says that nothing was proven of the two sides, so that what only proofs find is not among the findings.
	Unproven bool
	// Errors counts what is wrong after the change: where specs do not compile, nothing else could be compared, and there are no
	// entries; what only the proofs refuse is compared.
	Errors int
	// Waived are those that specs accept after the change, new or not.
	Waived []Waived
	// Waivers are those of specs that differ or have expired, whether they accept something or not; those that accept more come first.
	Waivers []WaiverChange
}

// Waived is something that a spec accepts, with its reason and the last day on which it does.
type Waived struct {
	Code          string
	Message       string
	Reason, Until string
	At            source.Span
	// New says that it was not accepted before the change.
	New bool
}

// Fails says whether some entry reaches a threshold.
func (r *Report) Fails(t Threshold) bool {
	for i := range r.Entries {
		if t.Met(&r.Entries[i]) {
			return true
		}
	}
	return false
}

// Worst is the gravest severity of the entries.
func (r *Report) Worst() Severity {
	worst := Info
	for i := range r.Entries {
		worst = max(worst, r.Entries[i].Severity)
	}
	return worst
}
