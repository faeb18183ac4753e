// Package semdiff says what a change of the specs means for clusters: it compares compiled objects of two states, a pull request's
// base and its head, and states consequences.
//
// The flow is Compare, once:
//
//		objects → match (identity, keyed lists) → Change, one per path → rule claims and judges it → Effect → group → Entry → Report
//
//	  - Package match finds what is different. What only moved, or is written in another way, is a Change too: nothing that differs is ever
//	    left out.
//	  - Package rule has a Rule in a file each, with a page in docs/changes. Each Change is claimed by exactly one of them; what none claims
//	    is `unclassified`.
//	  - Package group makes equal effects with one cause one Entry, whatever the number of tenants, and puts the verdict together.
//	  - Package render writes reports.
//
// The packages are pure: no clock, no file, no map order in what they return. They see objects only, never specs or plans; they know
// the specs by the spans of origins, and those that differ, for lines that become no object, as objects themselves (Spec).
package semdiff

import (
	"maps"
	"math"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// Input is what Compare compares. The order of its lists has no meaning.
type Input struct {
	// Units are those of all clusters, as NewUnit makes them. Units that are equal in both states need not be among them, but those that
	// hold what others refer to should come in any case: the platform, its components, and the runtimes. They cost little, and without
	// them it is not known what a role allows, whether a GitOps engine prunes, or which other policies a namespace has.
	Units []Unit
	// Clusters are what is known of clusters beside their units, by name.
	Clusters map[string]Cluster
	// Specs are those that differ. What the specs say and no object has is told by that: without it, a line that changes no object is
	// not a change.
	Specs []Spec
	// Before and After are what the compiler found. Nil is a state that was not compiled.
	Before, After *diag.List
	// Uncompiled reports that a state does not compile, so that there are no units.
	Uncompiled bool
	// Deciding are the files beside the specs that decide about reviews and differ.
	Deciding []group.DecidingFile
	// WaiversBefore and WaiversAfter are what specs accept.
	WaiversBefore, WaiversAfter []group.Waiver
	// Today is the day of the comparison, as 2027-06-30; "" is none, on which no waiver has expired.
	Today string
	// KeepAll makes all effects the samples of their Entry, for callers that look at every one. Otherwise it has three.
	KeepAll bool
}

// samples is how many effects an Entry keeps.
const samples = 3

// Cluster is what is known of a cluster beside its units.
type Cluster struct {
	// Tenants are those who live there in either state, for callers that leave out equal units: changes of what all share concern them
	// too. Without it, tenants are those of the units.
	Tenants []rule.Tenant
	// Ranges are the addresses of pods and Services in either state, `10.128.0.0/14`. What is not a range is left out.
	Ranges []string
	// ClearBefore and ClearAfter report whether traffic between machines is not encrypted; false in a state without the cluster.
	ClearBefore, ClearAfter bool
	// Before and After are what was proven, for those who show it; nil where the caller does not say. It does not change what is found.
	Before, After *Proven
}

// Spec is a spec in both states, as an object whose values come from their lines; nil is a state that does not have it.
type Spec struct{ Before, After *object.Object }

// Unit is what is kept of a unit of a cluster: what differs, and what must be known of the objects that do not.
type Unit struct {
	differs       match.Unit
	before, after *rule.Facts
}

// NewUnit compares two states of a unit. A state that does not have it is nil. Removals are the objects of the state after that patches
// remove, and by which lines.
func NewUnit(cluster, name string, before, after []object.Object, removals object.Removals) Unit {
	u := Unit{differs: match.CompareUnits(cluster, name, before, after, removals)}
	if before != nil {
		u.before = rule.FactsOf(before)
	}
	if after != nil {
		u.after = rule.FactsOf(after)
	}
	return u
}

// QueuesOnly returns an equal unit with what is known of its queues: others are judged by the cohort that they share.
func (u *Unit) QueuesOnly() Unit {
	return Unit{differs: match.Unit{Cluster: u.differs.Cluster, Name: u.differs.Name}, before: u.before.QueuesOnly(), after: u.after.QueuesOnly()}
}

// Same reports whether both states have the unit, and their objects are equal.
func (u *Unit) Same() bool { return u.differs.IsEqual() && u.before != nil && u.after != nil }

// Compare returns what a change of the specs means.
func Compare(in Input) Report {
	r := Report{Findings: group.FindingsOf(in.Before, in.After), Totals: Totals{Units: len(in.Units)}}
	for _, list := range []*diag.List{in.Before, in.After} {
		if list != nil && list.Docs != "" {
			r.Docs = list.Docs
		}
	}
	r.Findings.Uncompiled, r.Findings.Deciding = in.Uncompiled, in.Deciding
	r.Findings.Waivers = group.WaiverChanges(in.WaiversBefore, in.WaiversAfter, in.Today)
	most := samples
	if in.KeepAll {
		most = math.MaxInt
	}
	groups, lines := group.New(most), rule.NewChangedLines()
	clusters := map[string]clusterDiff{}
	for _, name := range in.clusterNames() {
		clusters[name] = in.clusterDiffOf(name)
	}
	all := allClustersOf(clusters)
	for _, name := range in.clusterNames() {
		own := clusters[name]
		own.known.AllClusters = all
		known := rule.NewCluster(own.known)
		d := match.JoinUnits(own.differs, all.MayBeRenamed)
		known.Judge(&d, groups.Add)
		if len(in.Specs) > 0 {
			lines.Note(d.Changes)
		}
		beside := in.Clusters[name]
		before, after := known.Exists()
		r.Clusters = append(r.Clusters, ClusterReport{
			Name: name, OnlyBefore: before && !after, OnlyAfter: after && !before, Objects: d.Totals.Objects, Changed: d.Touched,
			Before: beside.Before, After: beside.After.withLeft(beside.Before, known.LeftNamespaces()), Quotas: known.Quotas(),
		})
		r.Totals.Add(d.Totals)
	}
	for _, e := range rule.SpecEffects(in.specChanges(), lines, in.clear) {
		groups.Add(e)
		r.Totals.Values += len(e.Changes)
	}
	r.Entries = groups.Entries(&r.Findings)
	for i := range r.Entries {
		r.Totals.BySeverity[r.Entries[i].Severity]++
	}
	r.Verdict = group.Verdict(r.Entries, &r.Findings, all, r.Totals.Values)
	r.Clauses = group.Clauses(r.Entries, &r.Findings, all)
	return r
}

// clear reports whether traffic between the machines of a cluster is not encrypted.
func (in *Input) clear(name string) (was, is bool) {
	return in.Clusters[name].ClearBefore, in.Clusters[name].ClearAfter
}

// clusterNames are the names of all clusters, sorted.
func (in *Input) clusterNames() []string {
	names := slices.Collect(maps.Keys(in.Clusters))
	for i := range in.Units {
		names = append(names, in.Units[i].differs.Cluster)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// clusterDiff is what is known of a cluster, and what differs there.
type clusterDiff struct {
	known   rule.ClusterInput
	differs []match.Unit
}

// clusterDiffOf puts together what is known of a cluster, and what differs there.
func (in *Input) clusterDiffOf(name string) clusterDiff {
	d := clusterDiff{known: rule.ClusterInput{Name: name, Tenants: in.Clusters[name].Tenants, Ranges: in.Clusters[name].Ranges}}
	units := slices.DeleteFunc(slices.Clone(in.Units), func(u Unit) bool { return u.differs.Cluster != name })
	slices.SortStableFunc(units, func(a, b Unit) int { return strings.Compare(a.differs.Name, b.differs.Name) })
	d.differs = make([]match.Unit, len(units))
	for i, u := range units {
		d.differs[i], d.known.Before, d.known.After = u.differs, appendFacts(d.known.Before, u.before), appendFacts(d.known.After, u.after)
	}
	return d
}

// allClustersOf is what is known of all clusters together.
func allClustersOf(clusters map[string]clusterDiff) *rule.AllClusters {
	known := make(map[string]rule.ClusterInput, len(clusters))
	for name, d := range clusters {
		known[name] = d.known
	}
	return rule.NewAllClusters(known)
}

func appendFacts(list []*rule.Facts, f *rule.Facts) []*rule.Facts {
	if f == nil {
		return list
	}
	return append(list, f)
}

// specChanges are the values of specs that differ.
func (in *Input) specChanges() []*match.Change {
	var all []*match.Change
	for _, s := range in.Specs {
		all = append(all, match.CompareSpecs(s.Before, s.After)...)
	}
	return all
}
