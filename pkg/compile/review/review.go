// Package review compares two states of a repository of specs: what a change means for the clusters, before it is merged. It joins
// the compiler, which makes the objects of both, and package semdiff, which says what their differences mean.
package review

import (
	"cmp"
	"io/fs"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/waive"
)

// Options say what to compare.
type Options struct {
	Compile compile.Options
	// Before and After are the tops of the repositories, where files are that decide about reviews; nil is the folder of the specs.
	Before, After fs.FS
	// KeepAll keeps every effect, for callers that look at each object.
	KeepAll bool
}

// Result is the report, with the findings of both sides.
type Result struct {
	semdiff.Report
	// Before and After are the findings of both sides. Where it is not known what one means nothing was compared.
	Before, After *diag.List
	compared      bool
}

// Compared reports whether both sides compile, so that the report says what is different.
func (r *Result) Compared() bool { return r.compared }

// Compare returns what it means to go from one state of a repository to another. Where one of them does not compile, the report has
// findings only. It returns no error but those of the options' own functions.
func Compare(before, after fs.FS, options Options) (Result, error) {
	in := semdiff.Input{Today: options.Compile.Today, KeepAll: options.KeepAll}
	// Equal units of tenants are not kept if nothing differs that tenants share: there are thousands.
	sameShared := map[string]bool{}
	states, err := compile.CompareStates(before, after, options.Compile, func(p compile.ComparedUnit) error {
		u := semdiff.NewUnit(p.Cluster, p.Name, p.Before, p.After, p.Removed)
		same, known := sameShared[p.Cluster]
		if !p.OfTenant {
			sameShared[p.Cluster] = u.Same() && (same || !known)
		}
		if p.OfTenant && p.OnlyTenants && same && u.Same() {
			u = u.QueuesOnly()
		}
		in.Units = append(in.Units, u)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	for _, spec := range states.Specs {
		in.Specs = append(in.Specs, semdiff.Spec{Before: spec.Before, After: spec.After})
	}
	in.Clusters = clustersOf(states.Before.Plans, states.After.Plans)
	in.Before, in.After = states.Before.List, states.After.List
	in.WaiversBefore, in.WaiversAfter = groupWaivers(states.Before.Waivers), groupWaivers(states.After.Waivers)
	in.Uncompiled, in.Deciding = states.Unreadable(), compareDecidingFiles(cmp.Or(options.Before, before), cmp.Or(options.After, after))
	addProven(&in, &states)
	return Result{Report: semdiff.Compare(in), Before: in.Before, After: in.After, compared: !states.Unreadable()}, nil
}

// addProven adds what was proven of clusters, if both states were: facts of one state alone are not compared.
func addProven(in *semdiff.Input, states *compile.States) {
	if states.Unreadable() || states.Before.Proven == nil || states.After.Proven == nil {
		return
	}
	for name, known := range in.Clusters {
		known.Before, known.After = provenOf(&states.Before, name), provenOf(&states.After, name)
		in.Clusters[name] = known
	}
}

func provenOf(state *compile.State, cluster string) *semdiff.Proven {
	proven := state.Proven[cluster]
	if proven == nil {
		return nil
	}
	return &semdiff.Proven{Reach: proven.Reach, Rights: proven.Rights, Ranges: addressRangesOf(state.Plans, cluster)}
}

// groupWaivers are those of one state, as the comparison takes them.
func groupWaivers(written []waive.SpecWaiver) []group.Waiver {
	all := make([]group.Waiver, len(written))
	for i := range written {
		w := &written[i]
		all[i] = group.Waiver{Owner: w.Owner, Code: w.Code.V, About: w.About.V, Reason: w.Reason.V, Until: w.Expires.V, At: w.Code.At}
	}
	return all
}

// addressRangesOf returns the ranges of a cluster from which pods and Services have their addresses.
func addressRangesOf(clusters []*plan.Cluster, cluster string) []string {
	var found []string
	for _, c := range clusters {
		if c.Name.V == cluster {
			for _, r := range c.Ranges {
				found = append(found, r.V)
			}
		}
	}
	return found
}

// clustersOf are the clusters of both states, the one before first, with the tenants and the addresses of both together.
func clustersOf(states ...[]*plan.Cluster) map[string]semdiff.Cluster {
	all := map[string]semdiff.Cluster{}
	for i, clusters := range states {
		for _, c := range clusters {
			known := all[c.Name.V]
			for _, r := range c.Ranges {
				known.Ranges = append(known.Ranges, r.V)
			}
			for _, t := range c.Tenants {
				known.Tenants = append(known.Tenants, ruleTenant(t, i == 0))
			}
			if clear := c.Encryption.V == "None"; i == 0 {
				known.ClearBefore = clear
			} else {
				known.ClearAfter = clear
			}
			all[c.Name.V] = known
		}
	}
	return all
}

func ruleTenant(t *plan.Tenant, before bool) rule.Tenant {
	own := rule.Tenant{Name: t.Name.V, Before: before}
	for _, group := range t.GroupsOfRoles() {
		own.Groups = append(own.Groups, group.V.Name)
	}
	for _, n := range t.Namespaces {
		own.Namespaces = append(own.Namespaces, n.V)
	}
	for _, r := range t.Usable {
		own.Runtimes = append(own.Runtimes, r.Name.V)
	}
	return own
}
