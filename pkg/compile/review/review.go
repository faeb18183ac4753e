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
	// Whole compiles and proves both states completely, instead of what may differ: for those who show what is the same, too, or what
	// the proofs find and specs accept. A state that the proofs refuse is compared all the same.
	Whole bool
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
	in := semdiff.Input{Unproven: !options.Whole, Today: options.Compile.Today, KeepAll: options.KeepAll}
	states, err := compile.CompareStates(before, after, options.Compile, func(p compile.ComparedUnit) error {
		in.Units = append(in.Units, semdiff.NewUnit(p.Cluster, p.Name, p.Before, p.After, p.Removed))
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	for _, spec := range states.Specs {
		in.Specs = append(in.Specs, semdiff.Spec{Before: spec.Before, After: spec.After})
	}
	in.Clusters = clustersOf(states.Before, states.After)
	in.Before, in.After = states.BeforeList, states.AfterList
	in.WaiversBefore, in.WaiversAfter = groupWaivers(states.BeforeWaivers), groupWaivers(states.AfterWaivers)
	in.Uncompiled, in.Deciding = states.Unreadable(), compareDecidingFiles(cmp.Or(options.Before, before), cmp.Or(options.After, after))
	if options.Whole && !states.Unreadable() {
		if err := proveBoth(&in, &states, before, after, options.Compile); err != nil {
			return Result{}, err
		}
	}
	report := semdiff.Compare(in)
	if !options.Whole && !states.Unreadable() && report.Worst() < rule.Notice {
		if report, err = refusedReport(&in, report, &states, before, after, options.Compile); err != nil {
			return Result{}, err
		}
	}
	return Result{Report: report, Before: in.Before, After: in.After, compared: !states.Unreadable()}, nil
}

// refusedReport is a report that has nothing to tell, with what check finds where it refuses the state afterwards: then the report does not say that nothing changes.
func refusedReport(in *semdiff.Input, unchanged semdiff.Report, states *compile.States, before, after fs.FS, options compile.Options) (semdiff.Report, error) {
	list, err := compile.Stream(after, options, func(compile.Unit) error { return nil })
	if err != nil || list.Errors() == 0 {
		return unchanged, err
	}
	if err := proveBoth(in, states, before, after, options); err != nil {
		return unchanged, err
	}
	in.Unproven = false
	return semdiff.Compare(*in), nil
}

// proveBoth proves both states. Where rules refuse one, nothing is proven of either: what could not be asked of both is not compared.
func proveBoth(in *semdiff.Input, states *compile.States, before, after fs.FS, options compile.Options) (err error) {
	all := true
	for _, side := range []struct {
		root  fs.FS
		plans []*plan.Cluster
		list  **diag.List
		to    func(*semdiff.Cluster) **semdiff.Proven
	}{
		{before, states.Before, &in.Before, func(c *semdiff.Cluster) **semdiff.Proven { return &c.Before }},
		{after, states.After, &in.After, func(c *semdiff.Cluster) **semdiff.Proven { return &c.After }},
	} {
		proven := false
		*side.list, err = compile.Stream(side.root, options, func(u compile.Unit) error {
			if proven = proven || u.Proven != nil; u.Proven != nil {
				known := in.Clusters[u.Cluster]
				*side.to(&known) = &semdiff.Proven{Reach: u.Proven.Reach, Rights: u.Proven.Rights, Ranges: addressRangesOf(side.plans, u.Cluster)}
				in.Clusters[u.Cluster] = known
			}
			return nil
		})
		if err != nil {
			return err
		}
		all = all && proven
	}
	if !all {
		for name, known := range in.Clusters {
			known.Before, known.After = nil, nil
			in.Clusters[name] = known
		}
	}
	return nil
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
