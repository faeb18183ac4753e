package job

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Conditions of Workloads (sigs.k8s.io/kueue apis/kueue/v1beta2).
const (
	workloadQuotaReserved = "QuotaReserved"
	workloadAdmitted      = "Admitted"
)

// Workload is what is read of Kueue's object for a job that waits, or has waited.
type Workload struct {
	// Job is the UID of the TrainJob or whatever it is for.
	Job      types.UID
	Queue    string
	Priority int32
	Created  time.Time
	// Reserved is when the job got its quota, zero while it waits.
	Reserved time.Time

	// why is Kueue's word on a job that waits.
	why string
	// admitted: nothing is missing any more. Stopped: it was once, and may wait again. Inactive: Kueue leaves it alone.
	admitted, stopped, inactive bool
}

func (w Workload) waited() time.Duration { return w.Reserved.Sub(w.Created) }

// WorkloadOf reads a Workload. Read is false for one that is of no job.
func WorkloadOf(object unstructured.Unstructured) (w Workload, read bool) {
	var view struct {
		Spec struct {
			QueueName string `json:"queueName"`
			Priority  int32  `json:"priority"`
			Active    *bool  `json:"active"`
		} `json:"spec"`
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	uid := types.UID(object.GetLabels()[WorkloadOfLabel])
	if uid == "" || runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &view) != nil {
		return Workload{}, false
	}
	w = Workload{
		Job: uid, Queue: view.Spec.QueueName, Priority: view.Spec.Priority, Created: object.GetCreationTimestamp().Time,
		inactive: !ptr.Deref(view.Spec.Active, true),
	}
	evicted, stopping := conditionIs(view.Status.Conditions, workloadEvicted)
	w.stopped = evicted != nil
	switch reserved, is := conditionIs(view.Status.Conditions, workloadQuotaReserved); {
	case is && !stopping:
		w.Reserved = reserved.LastTransitionTime.Time
	case !is && reserved != nil:
		w.why = reserved.Message
	}
	_, w.admitted = conditionIs(view.Status.Conditions, workloadAdmitted)
	return w, true
}

// Place is where a job stands, from 0: in its local queue, and among all jobs that wait for the same ClusterQueue.
type Place struct {
	InQueue, Overall int
}

// Order is the order of a local queue as Kueue tells it.
type Order struct {
	// Places are those of jobs by their UIDs, and of whatever else Workloads are made for.
	Places map[types.UID]Place
	// Length is how many Workloads wait, or 1,000 where more do. A Workload may have many owners or none.
	Length int
}

// OrderIn reads the order of a local queue, a PendingWorkloadsSummary (sigs.k8s.io/kueue apis/visibility/v1beta2). What cannot be
// read is an empty queue.
func OrderIn(summary unstructured.Unstructured) Order {
	var view struct {
		Items []struct {
			Metadata               metav1.ObjectMeta `json:"metadata"`
			PositionInLocalQueue   int               `json:"positionInLocalQueue"`
			PositionInClusterQueue int               `json:"positionInClusterQueue"`
		} `json:"items"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(summary.Object, &view) != nil {
		return Order{}
	}
	order := Order{Places: map[types.UID]Place{}, Length: len(view.Items)}
	for _, item := range view.Items {
		for _, owner := range item.Metadata.OwnerReferences {
			order.Places[owner.UID] = Place{InQueue: item.PositionInLocalQueue, Overall: item.PositionInClusterQueue}
		}
	}
	return order
}
