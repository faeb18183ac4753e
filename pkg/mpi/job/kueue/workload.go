package kueue

import (
	"regexp"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
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

func (w Workload) waitedFor() time.Duration { return w.Reserved.Sub(w.Created) }

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
	evicted, stopping := findCondition(view.Status.Conditions, workloadEvicted)
	w.stopped = evicted != nil
	switch reserved, is := findCondition(view.Status.Conditions, workloadQuotaReserved); {
	case is && !stopping:
		w.Reserved = reserved.LastTransitionTime.Time
	case !is && reserved != nil:
		w.why = reserved.Message
	}
	_, w.admitted = findCondition(view.Status.Conditions, workloadAdmitted)
	return w, true
}

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

// Kueue's names (sigs.k8s.io/kueue pkg/controller/constants and apis/kueue/v1beta2).
const (
	// QueueLabel is the label of a TrainJob that waits in a queue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// WorkloadOfLabel is the label of a Workload with the UID of its job.
	WorkloadOfLabel = "kueue.x-k8s.io/job-uid"

	workloadEvicted = "Evicted"
	byPreemption    = "Preempted"
)

// Eviction is why Kueue has stopped a job.
type Eviction struct {
	// Reason is Preempted where another job needs the room, otherwise Evicted.
	Reason mpi.Reason
	// Message is Kueue's.
	Message string
	// By is the UID of the job that needs the room, empty where Kueue names none.
	By types.UID
	// ByName is the name of that job. It is empty for a job of another namespace: whose jobs those are is not for everybody.
	ByName string
}

// preemptor finds the UID of the job for which Kueue made room, in its words.
var preemptor = regexp.MustCompile(`JobUID: ([0-9a-f-]{36})\)`)

// FindEviction returns why Kueue stopped the job of these Workloads last, or nil where they do not say that it did, as when
// somebody else suspended the job.
func FindEviction(workloads []unstructured.Unstructured) *Eviction {
	var found *Eviction
	var last time.Time
	for _, workload := range workloads {
		var read workloadStatus
		if runtime.DefaultUnstructuredConverter.FromUnstructured(workload.Object, &read) != nil {
			continue
		}
		c := apimeta.FindStatusCondition(read.Status.Conditions, workloadEvicted)
		if c == nil || c.Status != metav1.ConditionTrue || c.LastTransitionTime.Time.Before(last) {
			continue
		}
		last, found = c.LastTransitionTime.Time, describeEviction(*c)
	}
	return found
}

// workloadStatus is what is read of a Workload.
type workloadStatus struct {
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func describeEviction(condition metav1.Condition) *Eviction {
	e := &Eviction{Reason: diagnose.Evicted, Message: condition.Message}
	if condition.Reason == byPreemption {
		e.Reason = diagnose.Preempted
	}
	if by := preemptor.FindStringSubmatch(condition.Message); by != nil {
		e.By = types.UID(by[1])
	}
	return e
}

// Text is what users read.
func (e Eviction) Text() string {
	text := "evicted by Kueue"
	if e.Reason == diagnose.Preempted {
		text = "preempted by Kueue"
	}
	if e.ByName != "" {
		text += " in favour of TrainJob `" + e.ByName + "`"
	}
	return text + ": " + e.Message
}
