// Package review compares two states of a repository of specs: what a change means for the clusters, before it is merged. It joins
// the compiler, which makes the objects of both, and package semdiff, which says what their differences mean.
package review

import (
	"io/fs"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/waive"
)

// Options say what to compare.
type Options struct {
	Compile compile.Options
	// Whole compiles and proves both states completely, instead of what may differ: for those who show what is the same, too, or what
	// the proofs find and specs accept. A state that the proofs refuse is compared all the same.
	Whole bool
}

// Result is what Of returns.
type Result struct {
	semdiff.Report
	// Before and After are the findings of both sides. Where one has errors nothing was compared.
	Before, After *diag.List
	compared      bool
}

// Compared says whether both sides compile, so that the report says what is different.
func (r *Result) Compared() bool { return r.compared }

// Of returns what it means to go from one state of a repository to another. Where one of them does not compile, the report has
// findings only. It returns no error but those of the options' own functions.
func Of(before, after fs.FS, options Options) (Result, error) {
	comparison := semdiff.New(semdiff.Options{})
	states, err := compile.Pairs(before, after, options.Compile, func(p compile.Pair) error {
		comparison.Removed(p.Cluster, p.Removed)
		comparison.Unit(p.Cluster, p.Name, p.Before, p.After)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	for _, spec := range states.Specs {
		comparison.Spec(spec.Before, spec.After)
	}
	for name, tenants := range tenantsOf(states.Before, states.After) {
		comparison.Tenants(name, tenants)
	}
	for _, clusters := range [][]*plan.Cluster{states.Before, states.After} {
		for _, c := range clusters {
			comparison.Ranges(c.Name.V, ranges(clusters, c.Name.V))
		}
	}
	was, is, compared := states.BeforeList, states.AfterList, !states.Errors()
	if options.Whole && compared {
		if was, is, err = prove(comparison, &states, before, after, options.Compile); err != nil {
			return Result{}, err
		}
	}
	comparison.Findings(was, is)
	if !options.Whole {
		comparison.Unproven()
	}
	comparison.Waivers(waivers(states.BeforeWaivers), waivers(states.AfterWaivers), options.Compile.Today)
	return Result{Report: comparison.Report(), Before: was, After: is, compared: compared}, nil
}

// prove proves both states, and tells the comparison what was proven.
func prove(comparison *semdiff.Comparison, states *compile.States, before, after fs.FS, options compile.Options) (was, is *diag.List, err error) {
	known := map[string][2]*semdiff.Facts{}
	lists := [2]*diag.List{}
	for i, root := range []fs.FS{before, after} {
		lists[i], err = compile.Stream(root, options, func(u compile.Unit) error {
			if u.Proven != nil {
				sides := known[u.Cluster]
				sides[i] = &semdiff.Facts{Reach: u.Proven.Reach, Rights: u.Proven.Rights, Ranges: ranges([][]*plan.Cluster{states.Before, states.After}[i], u.Cluster)}
				known[u.Cluster] = sides
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for name, sides := range known {
		comparison.Proven(name, sides[0], sides[1])
	}
	return lists[0], lists[1], nil
}

// waivers are those of one state, as the comparison takes them.
func waivers(written []waive.Written) []semdiff.Waiver {
	all := make([]semdiff.Waiver, len(written))
	for i := range written {
		w := &written[i]
		all[i] = semdiff.Waiver{Owner: w.Owner, Code: w.Code.V, About: w.About.V, Reason: w.Reason.V, Until: w.Expires.V, At: w.Code.At}
	}
	return all
}

// ranges are the addresses of pods and Services of a cluster.
func ranges(clusters []*plan.Cluster, name string) []string {
	var found []string
	for _, c := range clusters {
		if c.Name.V == name {
			for _, r := range c.Ranges {
				found = append(found, r.V)
			}
		}
	}
	return found
}

// tenantsOf are the tenants of clusters, of both states together, sorted by name.
func tenantsOf(states ...[]*plan.Cluster) map[string][]semdiff.Tenant {
	found := map[string]map[string]semdiff.Tenant{}
	for _, clusters := range states {
		for _, c := range clusters {
			if found[c.Name.V] == nil {
				found[c.Name.V] = map[string]semdiff.Tenant{}
			}
			for _, t := range c.Tenants {
				known := found[c.Name.V][t.Name.V]
				known.Name = t.Name.V
				for _, n := range t.Namespaces {
					known.Namespaces = append(known.Namespaces, n.V)
				}
				for _, r := range t.Usable {
					known.Runtimes = append(known.Runtimes, r.Name.V)
				}
				found[c.Name.V][t.Name.V] = known
			}
		}
	}
	sorted := map[string][]semdiff.Tenant{}
	for name, tenants := range found {
		for _, t := range tenants {
			slices.Sort(t.Namespaces)
			slices.Sort(t.Runtimes)
			t.Namespaces, t.Runtimes = slices.Compact(t.Namespaces), slices.Compact(t.Runtimes)
			sorted[name] = append(sorted[name], t)
		}
		slices.SortFunc(sorted[name], func(a, b semdiff.Tenant) int { return strings.Compare(a.Name, b.Name) })
	}
	return sorted
}
