package lower

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	topologyRule = origin.Rule("topology", "Kueue keeps the nodes of a job close; from its version 0.14 on it does so without a feature gate")
	hostRule     = origin.Rule("topology", "the machine is the lowest level: Kueue then counts what each one has left, and admits no job that would not fit")
)

// topology lists the levels of a profile, the widest first.
func (b *builder) topology(c *plan.Cluster, p *plan.Profile) {
	if !c.Topological() {
		return
	}
	levels := make([]object.Node, 0, 1+len(p.Topology))
	for i := range p.Topology {
		levels = append(levels, object.Map("", planText("nodeLabel", &p.Topology[i].NodeLabel)))
	}
	if !slices.ContainsFunc(p.Topology, func(l plan.TopologyLevel) bool { return l.NodeLabel.V == corev1.LabelHostname }) {
		levels = append(levels, object.Map("", object.Text("nodeLabel", corev1.LabelHostname, hostRule)))
	}
	name := plan.Value[string]{V: p.Name, Origin: origin.Origin{At: p.At}}
	b.add(topologyRule, kueueAPI(c), "Topology", platformMeta(planText("", &name)), object.Map("spec", object.List("levels", levels...)))
}
