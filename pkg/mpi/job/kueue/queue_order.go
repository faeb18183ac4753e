package kueue

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// QueuePosition is where a job stands, from 0: in its local queue, and among all jobs that wait for the same ClusterQueue.
type QueuePosition struct {
	InQueue, Overall int
}

// QueueOrder is the order of a local queue as Kueue tells it.
type QueueOrder struct {
	// Positions are those of jobs by their UIDs, and of whatever else Workloads are made for.
	Positions map[types.UID]QueuePosition
	// Length is how many Workloads wait, or 1,000 where more do. A Workload may have many owners or none.
	Length int
}

// ParseOrder reads the order of a local queue, a PendingWorkloadsSummary (sigs.k8s.io/kueue apis/visibility/v1beta2). What cannot be
// read is an empty queue.
func ParseOrder(summary unstructured.Unstructured) QueueOrder {
	var view struct {
		Items []struct {
			Metadata               metav1.ObjectMeta `json:"metadata"`
			PositionInLocalQueue   int               `json:"positionInLocalQueue"`
			PositionInClusterQueue int               `json:"positionInClusterQueue"`
		} `json:"items"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(summary.Object, &view) != nil {
		return QueueOrder{}
	}
	order := QueueOrder{Positions: map[types.UID]QueuePosition{}, Length: len(view.Items)}
	for _, item := range view.Items {
		for _, owner := range item.Metadata.OwnerReferences {
			order.Positions[owner.UID] = QueuePosition{InQueue: item.PositionInLocalQueue, Overall: item.PositionInClusterQueue}
		}
	}
	return order
}
