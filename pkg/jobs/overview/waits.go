package overview

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// week is how long ago a wait may have ended to count.
const week = 7 * 24 * time.Hour

// QueueWaits shows how long jobs of a tenant waited in a queue that got their quota in the last week. Kueue forgets the
// wait of a deleted job.
type QueueWaits struct {
	Tenant string `json:"tenant"`
	// Queue is the ClusterQueue, or the local queue if that is unknown.
	Queue         string `json:"queue"`
	Jobs          int    `json:"jobs"`
	MedianSeconds int64  `json:"medianSeconds"`
	// P95Seconds is the wait that 95 of 100 jobs did not exceed.
	P95Seconds int64 `json:"p95Seconds"`
}

func (in *Input) waits() []QueueWaits {
	queues := in.clusterQueueNames()
	ended := map[QueueWaits][]kueue.Workload{}
	for _, w := range in.Workloads {
		if w.Counts() && in.Now.Sub(w.Reserved) <= week {
			key := QueueWaits{
				Tenant: cmp.Or(in.Tenants[w.Namespace], w.Namespace),
				Queue:  cmp.Or(queues[jobKey{w.Namespace, w.Queue}], w.Queue),
			}
			ended[key] = append(ended[key], w)
		}
	}
	rows := []QueueWaits{}
	for row, all := range ended {
		row.Jobs = len(all)
		row.MedianSeconds = int64(kueue.WaitOf(50, all).Seconds())
		row.P95Seconds = int64(kueue.WaitOf(95, all).Seconds())
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b QueueWaits) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Tenant, b.Tenant))
	})
	return rows
}

// clusterQueueNames returns the ClusterQueue of each local queue.
func (in *Input) clusterQueueNames() map[jobKey]string {
	queues := map[jobKey]string{}
	for i := range in.LocalQueues {
		q := &in.LocalQueues[i]
		of, _, _ := unstructured.NestedString(q.Object, "spec", "clusterQueue")
		queues[jobKey{q.GetNamespace(), q.GetName()}] = of
	}
	return queues
}
