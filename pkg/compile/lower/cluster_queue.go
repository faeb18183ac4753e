package lower

import (
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	queueRule = origin.Rule("cluster queue", "the jobs of a tenant wait in a queue of its own, each counted whole: a launcher is charged to the machines of its nodes, because it is placed there. "+
		"Pods are left to the quota of the namespace, which counts them whoever makes them")
	selectorRule = origin.Rule("cluster queue", "only namespaces of the tenant may use its machines, whoever points a LocalQueue to them")
)

func (b *builder) clusterQueue(c *plan.Cluster, t *plan.Tenant) {
	q := t.Queue
	if q == nil {
		return
	}
	entries := make([]object.Node, 0, 4)
	member := q.Cohort.V != ""
	if member {
		entries = append(entries, planText(cohortField(c), &q.Cohort))
	}
	entries = append(entries, namespaceSelector(t), queuePreemption(q), resourceGroups(c, q.Shares, member))
	b.add(queueRule, kueueAPI(c), "ClusterQueue", tenantMeta(t, nil, planText("", &t.Name)), object.Map("spec", entries...))
}

func cohortField(c *plan.Cluster) string {
	if c.Queueing.APIVersion.V == plan.KueueBeta1 {
		return "cohort"
	}
	return "cohortName"
}

func namespaceSelector(t *plan.Tenant) object.Node {
	names := make([]object.Node, 0, len(t.Namespaces))
	for i := range t.Namespaces {
		names = append(names, planText("", &t.Namespaces[i]))
	}
	return object.Map("namespaceSelector", object.List("matchExpressions", object.Map("",
		object.Text("key", corev1.LabelMetadataName, nil),
		object.Text("operator", "In", nil),
		object.List("values", names...)).With(selectorRule)))
}

// queuePreemption says whom a waiting job may stop. Without a cohort nobody borrows, so that there is nothing to reclaim.
func queuePreemption(q *plan.Queue) object.Node {
	reclaim, within := "Never", "Never"
	if q.Preempts.V != plan.PreemptsNobody && q.Cohort.V != "" {
		reclaim = "Any"
	}
	if q.Preempts.V == plan.PreemptsLower {
		within = "LowerPriority"
	}
	return object.Map("preemption",
		object.Text("reclaimWithinCohort", reclaim, nil),
		object.Text("withinClusterQueue", within, nil)).With(derivedOrigin(&q.Preempts.Origin, "what `preempts` means in the words of Kueue"))
}
