package capacity

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// checkFlavors asks that the flavor of each profile means its machines: their labels, the taints that keep others off, and the
// levels of their topology down to the machine.
func (p *proof) checkFlavors() {
	if p.c.Queueing == nil {
		return
	}
	for i := range p.c.Capacity {
		profile := p.c.Capacity[i].Profile
		f := p.flavors[profile.Name]
		if f == nil {
			p.reportAtPatch(diag.QueueUnreachable, profile.At, p.removalPlaces("ResourceFlavor", "", profile.Name), "the profile `%s` has no flavor", profile.Name)
			continue
		}
		if !slices.Equal(f.labels, p.machineLabels(profile)) {
			p.reportFlavor(profile, f.patch, "is for machines with other labels")
		}
		if !slices.EqualFunc(f.taints, taintTolerations(profile), func(taint toleration, t corev1.Toleration) bool { return isTolerationFor(t, taint) }) {
			p.reportFlavor(profile, f.patch, "has other taints than the profile tolerates")
		}
		p.checkTopologyLevels(profile, f)
	}
}

func (p *proof) reportFlavor(profile *plan.Profile, patch source.Span, what string) {
	p.reportAtPatch(diag.Unfaithful, profile.At, []source.Span{patch}, "the flavor `%s` %s", profile.Name, what)
}

// machineLabels are those of the machines of a profile. Kueue asks for one at least where it places pods itself.
func (p *proof) machineLabels(profile *plan.Profile) []label {
	var labels []label
	for _, l := range profile.NodeLabels() {
		labels = append(labels, label{l.Name, l.V})
	}
	if len(labels) == 0 && p.c.Topological() {
		labels = []label{{"kubernetes.io/os", "linux"}}
	}
	return labels
}

// taintTolerations are the tolerations of a profile that are for a taint which keeps pods off, each key and effect once.
func taintTolerations(profile *plan.Profile) []corev1.Toleration {
	var result []corev1.Toleration
	for _, t := range profile.Tolerations {
		again := slices.ContainsFunc(result, func(r corev1.Toleration) bool {
			return r.Key == t.V.Key && (r.Effect == t.V.Effect || strictestEffect(r.Effect) == strictestEffect(t.V.Effect))
		})
		if t.V.Key != "" && t.V.Effect != corev1.TaintEffectPreferNoSchedule && !again {
			result = append(result, t.V)
		}
	}
	return result
}

// strictestEffect is the effect of the taint that a toleration of all effects is for.
func strictestEffect(effect corev1.TaintEffect) corev1.TaintEffect {
	return cmp.Or(effect, corev1.TaintEffectNoSchedule)
}

func isTolerationFor(t corev1.Toleration, taint toleration) bool {
	return taint.key == t.Key && taint.value == t.Value && taint.effect == string(strictestEffect(t.Effect))
}

func (p *proof) checkTopologyLevels(profile *plan.Profile, f *flavor) {
	if (f.topology != "") != p.c.Topological() {
		p.reportFlavor(profile, f.patch, "has a topology where others have none, or none where others have one: Kueue would admit no job without a wish for a level")
		return
	}
	topology := p.topologies[f.topology]
	if topology == nil {
		return // a finding of its own where a queue has the flavor
	}
	var levels []string
	for _, level := range profile.Topology {
		levels = append(levels, level.NodeLabel.V)
	}
	if !slices.Contains(levels, corev1.LabelHostname) {
		levels = append(levels, corev1.LabelHostname)
	}
	if !slices.Equal(levels, topology.levels) {
		p.reportFlavor(profile, topology.patch, "has a topology with other levels than the profile")
	}
}
