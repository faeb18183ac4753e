// Package semdiff says what a change of the specs means for clusters: it compares compiled objects of two states, a pull request's
// base and its head, and states consequences.
//
// The flow is Unit, pair by pair, and Report once:
//
//		objects → match (identity, keyed lists) → Change, one per path → Rule claims it → Effect → Entry (a group) → Report
//
//	  - match.go, list.go and same.go find what is different. What only moved, or is written in another way, is a Change too: nothing
//	    that differs is ever left out.
//	  - Each Change is claimed by exactly one Rule, the first in the order of Rules; what none claims is `unclassified`. Rules live in
//	    a file each, with a page in docs/changes.
//	  - Most rules look at the changes of one unit at a time, which is forgotten then. What only a whole cluster can answer (which
//	    traffic is open, who may do what, which machines a tenant gets, what a GitOps engine deletes, what was renamed) is judged when
//	    all of its units are known; for these the comparison keeps facts, not objects.
//	  - Equal effects with one cause are one Entry, whatever the number of tenants.
//
// The package is pure: no clock, no file, no map order in what it returns. It sees objects only, never specs or plans; it knows
// the specs by the spans of origins, and those that differ, for lines that become no object, as objects themselves (Spec).
package semdiff

import (
	"net/netip"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
)

// Options say how to compare.
type Options struct {
	// Samples is how many effects an Entry keeps; 0 means 3.
	Samples int
	// KeepAll makes all effects the samples of their Entry, for callers that look at every one.
	KeepAll bool
}

// Comparison compares two states of clusters. It is used by one goroutine.
type Comparison struct {
	options  Options
	clusters map[string]*cluster
	groups   groups
	findings Findings
	waivers  []WaiverChange
	specs    []*Change
	units    int
}

// New returns an empty comparison.
func New(options Options) *Comparison {
	if options.Samples == 0 {
		options.Samples = 3
	}
	return &Comparison{options: options, clusters: map[string]*cluster{}, groups: groups{byKey: map[key]*group{}, samples: options.Samples, keep: options.KeepAll}}
}

// Unit compares one unit of a cluster. A unit that only one side has comes with nil for the other. Units come in any order.
//
// Units that are equal on both sides need not be compared, but those that hold what others refer to should come in any case: the
// platform, its components, and the runtimes. They cost little, and without them nobody knows what a role allows, whether a GitOps
// engine prunes, or which other policies a namespace has.
func (c *Comparison) Unit(clusterName, unit string, before, after []object.Object) {
	c.units++
	c.cluster(clusterName).unit(c, unit, before, after)
}

// Tenants tells who lives on a cluster, on both sides together, for callers that leave out equal units: changes of what all share
// concern them too. Without it, tenants are those of the units that were compared.
func (c *Comparison) Tenants(clusterName string, tenants []Tenant) {
	for _, t := range tenants {
		c.cluster(clusterName).know(t)
	}
}

// Ranges tells the addresses of pods and Services of a cluster, `10.128.0.0/14`. What is no range is left out.
func (c *Comparison) Ranges(clusterName string, ranges []string) {
	known := c.cluster(clusterName)
	for _, text := range ranges {
		if prefix, err := netip.ParsePrefix(text); err == nil && !slices.Contains(known.ranges, prefix) {
			known.ranges = append(known.ranges, prefix)
		}
	}
}

// Removed tells the objects of the state after that patches remove, and by which lines, before the unit that had them is compared.
func (c *Comparison) Removed(clusterName string, objects object.Removals) {
	known := c.cluster(clusterName)
	known.removals = known.removals.Join(objects)
}

// Proven tells what was proven about a cluster, for those who show it; it does not change what the comparison finds.
func (c *Comparison) Proven(clusterName string, before, after *Facts) {
	known := c.cluster(clusterName)
	known.before, known.after = before, after
}

// Findings tells what the compiler found on both sides. Nil is a side that was not compiled.
func (c *Comparison) Findings(before, after *diag.List) { c.findings = newFindings(before, after) }

// Unproven tells that the findings of both sides are without those of the proofs.
func (c *Comparison) Unproven() { c.findings.Unproven = true }

// Report returns what was found. It is called once, when all units were compared.
func (c *Comparison) Report() Report { return c.report() }

func (c *Comparison) cluster(name string) *cluster {
	known := c.clusters[name]
	if known == nil {
		known = newCluster(name)
		c.clusters[name] = known
	}
	return known
}
