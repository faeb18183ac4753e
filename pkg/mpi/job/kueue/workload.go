package kueue

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// Labels by which Kueue knows jobs (sigs.k8s.io/kueue pkg/controller/constants).
const (
	// QueueLabel is the label of a TrainJob that waits in a queue.
	QueueLabel = job.QueueLabel
	// WorkloadOfLabel is the label of a Workload with the UID of its job.
	WorkloadOfLabel = "kueue.x-k8s.io/job-uid"
)

// Conditions of Workloads (sigs.k8s.io/kueue apis/kueue/v1beta2).
const (
	workloadQuotaReserved = "QuotaReserved"
	workloadAdmitted      = "Admitted"
)

// Workload is what is read of Kueue's object for a job that waits, or has waited.
type Workload struct {
	// Job is the UID of the TrainJob or whatever it is for.
	Job       types.UID
	Namespace string
	Queue     string
	Priority  int32
	Created   time.Time
	// Reserved is when the job got its quota, zero while it waits.
	Reserved time.Time

	// why is Kueue's word on a job that waits.
	why string
	// admitted: nothing is missing any more. Stopped: it was once, and may wait again. Inactive: Kueue leaves it alone.
	admitted, stopped, inactive bool
}

func (w Workload) waitedFor() time.Duration { return w.Reserved.Sub(w.Created) }

// Counts reports whether the time from the creation to the quota was a wait. A job that was stopped once has run
// meanwhile.
func (w Workload) Counts() bool { return !w.Reserved.IsZero() && !w.stopped }

// WaitOf returns the wait that so many percent of workloads did not exceed, which must not be none and all count.
func WaitOf(percent int, workloads []Workload) time.Duration {
	byWait := slices.SortedFunc(slices.Values(workloads), func(a, b Workload) int {
		return cmp.Compare(a.waitedFor(), b.waitedFor())
	})
	return byWait[min(len(byWait)-1, len(byWait)*percent/100)].waitedFor()
}

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
		Job: uid, Namespace: object.GetNamespace(), Queue: view.Spec.QueueName, Priority: view.Spec.Priority,
		Created:  object.GetCreationTimestamp().Time,
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
