package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// certifiedRuntimesHere asks that certified runtimes are compiled for the cluster. Those with mistakes are in no plan.
func certifiedRuntimesHere(c *plan.Cluster, list *diag.List) {
	for i := range c.Certified {
		name := c.Certified[i].Runtime
		named := func(r *plan.Runtime) bool { return r.Name.V == name.V }
		at := slices.IndexFunc(c.Catalog, named)
		switch {
		case at < 0 || slices.ContainsFunc(c.Runtimes, named):
		case c.Catalog[at].Retired:
			list.Errorf(diag.CertifiedNotHere, name.At, "the certified runtime `%s` is retired", name.V).
				Also(c.Catalog[at].Name.At, "defined here").Helpf("remove the certification")
		default:
			list.Errorf(diag.CertifiedNotHere, name.At, "the certified runtime `%s` is not on the cluster `%s`, which has no machines of the profile `%s`", name.V, c.Name.V, c.Catalog[at].Profile.Name).
				Helpf("add the profile to `capacity` of the cluster, or remove the certification")
		}
	}
}

// certifiedOnce asks for one certification of a runtime.
func certifiedOnce(c *plan.Cluster, list *diag.List) {
	for i := range c.Certified {
		own := &c.Certified[i]
		if first := c.CertificationOf(own.Runtime.V); first != own {
			list.Errorf(diag.CertifiedTwice, own.Runtime.At, "the runtime `%s` is certified twice", own.Runtime.V).
				Also(first.Runtime.At, "also here").Helpf("keep the newer entry")
		}
	}
}

// CertificationsHold warns of runtimes that have changed since they were certified. Only whoever has the objects, patches included, knows.
func CertificationsHold(c *plan.Cluster, list *diag.List) {
	for i := range c.Certified {
		if own := &c.Certified[i]; own.Stale {
			list.Warnf(diag.CertificationStale, own.Fingerprint.At, "the runtime `%s` was certified on %s, and its pods have changed since", own.Runtime.V, own.Date.V).
				Helpf("run `kubectl mpi certify %s` when the change is on the cluster, and replace this entry", own.Runtime.V)
		}
	}
}
