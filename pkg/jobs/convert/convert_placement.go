package convert

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// convertPlacement: the profile of the runtime finds the machines; a patch may choose among them.
func (c *converter) convertPlacement(spec *corev1.PodSpec, path, to string, patch *podPatch) {
	machines, own := c.catalog.machineLabels(), machineLabelsOf(c.choice.profile)
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		at, value := childPath(path+".nodeSelector", key), spec.NodeSelector[key]
		switch {
		case own[key] == value:
			c.add(ByRuntime, at, "HardwareProfile "+c.choice.profile.Metadata.Name, "")
		case machines[key]:
			c.add(NotPossible, at, "", "by this label machines of profiles are told apart: the runtime chooses them (profile `%s`)", c.choice.profile.Metadata.Name)
		default:
			setMapEntry(&patch.spec.NodeSelector, key, value)
			c.add(Carried, at, to+" nodeSelector", "")
		}
	}
	for i, t := range spec.Tolerations {
		at := itemPath(path+".tolerations", i)
		if hasToleration(c.choice.profile, t) {
			c.add(ByRuntime, at, "HardwareProfile "+c.choice.profile.Metadata.Name, "")
			continue
		}
		c.add(NotPossible, at, "", "tolerations come with the profile of the runtime, which has not this one: machines of others are kept for them")
	}
	c.convertAffinity(spec.Affinity, path+".affinity", to, patch)
}

func (c *converter) convertAffinity(a *corev1.Affinity, path, to string, patch *podPatch) {
	if a == nil {
		return
	}
	if nodes := a.NodeAffinity; nodes != nil {
		if label := c.machineLabel(nodes); label != "" {
			c.add(NotPossible, path+".nodeAffinity", "", "by the label `%s` machines of profiles are told apart: the runtime chooses them", label)
		} else {
			patch.spec.Affinity = &corev1.Affinity{NodeAffinity: nodes}
			c.add(Carried, path+".nodeAffinity", to+" affinity", "")
		}
	}
	c.add(NotPossible, path+".podAffinity", "", "nodes are kept close by `gang.within` of the runtime; pods have the labels of JobSet (`jobset.sigs.k8s.io/jobset-name`)")
	c.add(NotPossible, path+".podAntiAffinity", "", "the nodes of a job are spread over machines as far as possible, and no other job is kept away from them")
}

// machineLabel returns the first label of a profile that an affinity names.
func (c *converter) machineLabel(a *corev1.NodeAffinity) string {
	machines := c.catalog.machineLabels()
	var terms []corev1.NodeSelectorTerm
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = append(terms, required.NodeSelectorTerms...)
	}
	for _, preferred := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, preferred.Preference)
	}
	for _, term := range terms {
		for _, e := range term.MatchExpressions {
			if machines[e.Key] {
				return e.Key
			}
		}
	}
	return ""
}
