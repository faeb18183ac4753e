package check

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// profilesDiffer asks that Kueue can tell the machines of two profiles apart: otherwise a job is charged to, and placed on, the
// wrong ones as soon as its own are taken.
func profilesDiffer(c *plan.Cluster, list *diag.List) {
	if c.Queueing == nil {
		return
	}
	for _, own := range c.Capacity {
		for _, other := range c.Capacity {
			if own.Profile != other.Profile && podsAdmittedToOther(own.Profile, other.Profile) {
				list.Warnf(diag.ProfilesAlike, own.Profile.At, "jobs for `%s` may be placed on machines of `%s`: nothing keeps them off", own.Profile.Name, other.Profile.Name).
					Also(other.Profile.At, "the other profile").Helpf("give `%s` a `nodeSelector`, or `%s` a taint and `tolerations`", own.Profile.Name, other.Profile.Name)
			}
		}
	}
}

// podsAdmittedToOther reports whether pods for one profile are admitted to machines of another.
func podsAdmittedToOther(own, other *plan.Profile) bool {
	for _, label := range own.NodeLabels() {
		if !slices.ContainsFunc(other.NodeLabels(), func(l plan.Named[string]) bool { return l.Name == label.Name && l.V == label.V }) {
			return false
		}
	}
	for _, offer := range own.Allocatable() {
		if !slices.ContainsFunc(other.Allocatable(), func(o plan.Named[resource.Quantity]) bool { return o.Name == offer.Name }) {
			return false
		}
	}
	return !slices.ContainsFunc(other.Tolerations, func(t plan.Value[corev1.Toleration]) bool {
		repels := t.V.Key != "" && t.V.Effect != corev1.TaintEffectPreferNoSchedule
		return repels && !profileTolerates(own, t.V)
	})
}

// profileTolerates reports whether pods for a profile tolerate the taints that a toleration is for.
func profileTolerates(p *plan.Profile, of corev1.Toleration) bool {
	return slices.ContainsFunc(p.Tolerations, func(t plan.Value[corev1.Toleration]) bool {
		everything := t.V.Key == "" && t.V.Operator == corev1.TolerationOpExists
		return everything || t.V.Key == of.Key && (t.V.Operator == corev1.TolerationOpExists || t.V.Value == of.Value)
	})
}
