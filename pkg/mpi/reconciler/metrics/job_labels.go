package metrics

import (
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// What is kept apart in metrics. Users choose the names of queues, and admins of projects those of runtimes: without a bound, the series of one
// namespace would grow until the controller has no memory left.
const (
	pairsPerNamespace = 16
	namespacesKept    = 500
)

// jobLabels is whose job a metric counts: its namespace, its runtime and its queue, the last one empty where there is none.
type jobLabels struct{ namespace, runtime, queue string }

// ownerLabels are the names of its labels, and jobLabels.labelValues what they are.
var ownerLabels = []string{"namespace", "runtime", "queue"}

func (o jobLabels) labelValues(more ...string) []string {
	return append([]string{o.namespace, o.runtime, o.queue}, more...)
}

// boundedJobLabels are all that were seen, for one goroutine at a time. What is too much is counted as otherReason: of a namespace its runtimes and queues, and then namespaces.
type boundedJobLabels map[string]map[jobLabels]bool

func (k boundedJobLabels) labelsOf(trainJob *trainer.TrainJob) jobLabels {
	o := jobLabels{trainJob.Namespace, trainJob.Spec.RuntimeRef.Name, trainJob.Labels[kueue.QueueLabel]}
	pairs, known := k[o.namespace]
	switch {
	case known && pairs[o]:
		return o
	case !known && len(k) >= namespacesKept:
		return jobLabels{otherReason, otherReason, otherReason}
	case !known:
		pairs = map[jobLabels]bool{}
		k[o.namespace] = pairs
	case len(pairs) >= pairsPerNamespace:
		return jobLabels{o.namespace, otherReason, otherReason}
	}
	pairs[o] = true
	return o
}
