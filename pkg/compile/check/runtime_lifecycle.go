package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// lifecycleIsComplete warns of a deprecated runtime that names nothing to move to, and of an end that is described while the runtime is
// active.
func lifecycleIsComplete(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		switch end := r.Deprecation; {
		case r.Deprecated.V && (end == nil || end.Successor.V == ""):
			list.Warnf(diag.LifecycleIncomplete, r.Deprecated.At, "the runtime `%s` is deprecated and names no successor", r.Name.V).
				Helpf("add `deprecation.successor`, so that users know where to move")
		case !r.Deprecated.V && end != nil:
			list.Warnf(diag.LifecycleIncomplete, r.Name.At, "the runtime `%s` has `deprecation` and is not deprecated", r.Name.V).
				Helpf("set `lifecycle` to `Deprecated`, or remove `deprecation`")
		}
	}
}

// retirementNotDue warns of a deprecated runtime whose last day has passed.
func retirementNotDue(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if end := r.Deprecation; r.Deprecated.V && end != nil && end.RetireOn.V != "" && end.RetireOn.V < c.Today {
			list.Warnf(diag.RetirementDue, end.RetireOn.At, "the runtime `%s` was to be retired on %s", r.Name.V, end.RetireOn.V).
				Helpf("set `lifecycle` to `Retired`, or give it a later day")
		}
	}
}

// successorFits warns of a successor to which nobody can move.
func successorFits(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if r.Deprecation == nil {
			continue
		}
		name := r.Deprecation.Successor
		i := slices.IndexFunc(c.Catalog, func(other *plan.Runtime) bool { return other.Name.V == name.V })
		if i < 0 {
			continue
		}
		if why := unfitSuccessorReason(r, c.Catalog[i]); why != "" {
			list.Warnf(diag.SuccessorUnfit, name.At, "the successor `%s` %s", name.V, why).
				Also(c.Catalog[i].Name.At, "defined here").Helpf("name a runtime that jobs of `%s` can move to", r.Name.V)
		}
	}
}

func unfitSuccessorReason(r, successor *plan.Runtime) string {
	switch {
	case successor == r:
		return "is the runtime itself"
	case successor.Retired:
		return "is retired"
	case successor.Deprecated.V:
		return "is deprecated too"
	case successor.Framework.V != r.Framework.V:
		return "has the framework label `" + successor.Framework.V + "`, not `" + r.Framework.V + "`"
	case successor.Profile.Name != r.Profile.Name:
		return "runs on the profile `" + successor.Profile.Name + "`, not `" + r.Profile.Name + "`"
	}
	return ""
}
