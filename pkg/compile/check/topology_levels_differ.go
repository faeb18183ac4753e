package check

import (
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// topologyLevelsDiffer asks for levels with names and labels of their own.
func topologyLevelsDiffer(c *plan.Cluster, list *diag.List) {
	for _, p := range usedProfiles(c) {
		for i := range p.Topology {
			if level := &p.Topology[i]; level.NodeLabel.V == corev1.LabelHostname && i < len(p.Topology)-1 {
				list.Errorf(diag.TopologyLevelTwice, level.NodeLabel.At, "`%s` is the machine, and `%s` below it cannot hold several", corev1.LabelHostname, p.Topology[i+1].Name.V).
					Also(p.Topology[i+1].Name.At, "the level below").Helpf("put it last, or leave it out: Kueue always looks at single machines, too")
			}
			for j := range i {
				a, b := &p.Topology[j], &p.Topology[i]
				if a.Name.V == b.Name.V {
					list.Errorf(diag.TopologyLevelTwice, b.Name.At, "the level `%s` is there twice", b.Name.V).Also(a.Name.At, "also here").
						Helpf("rename or remove one")
				}
				if a.NodeLabel.V == b.NodeLabel.V {
					list.Errorf(diag.TopologyLevelTwice, b.NodeLabel.At, "two levels have the label `%s`", b.NodeLabel.V).Also(a.NodeLabel.At, "also here").
						Helpf("each level has a label whose value tells its groups apart")
				}
			}
		}
	}
}
