package lower

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	flavorRule = origin.Rule("resource flavor", "one flavor per profile: Kueue counts machines of a kind apart, and places the pods that it admits on them")
	osRule     = origin.Rule("resource flavor", "Kueue needs a label to find the machines of a topology, and the profile names none; all machines of jobs have this one")
)

// resourceFlavor is a profile in the words of Kueue. The taints are those that the profile tolerates: only pods that tolerate them
// themselves, nodes of the profile's runtimes and their launchers, are charged to the flavor. Tolerations of the flavor would
// instead let pods of all other runtimes of a tenant onto the machines.
func (b *builder) resourceFlavor(c *plan.Cluster, p *plan.Profile) {
	entries := make([]object.Node, 0, 3)
	if labels := flavorLabels(c, p); len(labels) > 0 {
		entries = append(entries, object.Map("nodeLabels", labels...))
	}
	if taints := nodeTaints(p); len(taints) > 0 {
		entries = append(entries, object.List("nodeTaints", taints...))
	}
	if c.Topological() {
		entries = append(entries, object.Text("topologyName", p.Name, nil))
	}
	name := plan.Value[string]{V: p.Name, Origin: origin.Origin{At: p.At}}
	b.add(flavorRule, kueueAPI(c), "ResourceFlavor", platformMeta(planText("", &name)), object.Map("spec", entries...))
}

func flavorLabels(c *plan.Cluster, p *plan.Profile) []object.Node {
	own := p.NodeLabels()
	if len(own) == 0 && c.Topological() {
		return []object.Node{object.Text("kubernetes.io/os", "linux", osRule)}
	}
	labels := make([]object.Node, 0, len(own))
	for i := range own {
		labels = append(labels, object.Text(own[i].Name, own[i].V, &own[i].Origin))
	}
	return labels
}

// nodeTaints are the taints that the profile's tolerations are for, each key and effect once, as Kueue demands. A toleration of
// everything says nothing about a taint.
func nodeTaints(p *plan.Profile) []object.Node {
	var taints []object.Node
	seen := map[[2]string]bool{}
	for i := range p.Tolerations {
		t := &p.Tolerations[i]
		effect, ok := taintEffectFor(string(t.V.Effect))
		id := [2]string{t.V.Key, effect}
		if !ok || t.V.Key == "" || seen[id] {
			continue
		}
		seen[id] = true
		fields := []object.Node{object.Text("effect", effect, nil), object.Text("key", t.V.Key, nil)}
		if t.V.Value != "" {
			fields = append(fields, object.Text("value", t.V.Value, nil))
		}
		taints = append(taints, object.Map("", fields...).With(derivedOrigin(&t.Origin, "the taint that the toleration is for")))
	}
	return taints
}

// taintEffectFor returns the effect of the taint that a toleration is for, and whether it keeps pods off a machine. A toleration without
// effect is for all.
func taintEffectFor(tolerated string) (effect string, keepsOff bool) {
	if tolerated == "" {
		return "NoSchedule", true
	}
	return tolerated, !strings.HasPrefix(tolerated, "Prefer")
}
