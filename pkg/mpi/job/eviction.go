package job

import (
	"regexp"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

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

// NeedsEviction says whether a job in a queue has just been stopped, so that its Workload may say why.
func (o Observed) NeedsEviction() bool {
	return o.Owns() && o.suspendWanted() && o.TrainJob.Labels[QueueLabel] != "" &&
		!apimeta.IsStatusConditionTrue(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended)
}

// preemptor finds the UID of the job for which Kueue made room, in its words.
var preemptor = regexp.MustCompile(`JobUID: ([0-9a-f-]{36})\)`)

// EvictionIn returns why Kueue stopped the job of these Workloads last, or nil where they do not say that it did, as when
// somebody else suspended the job.
func EvictionIn(workloads []unstructured.Unstructured) *Eviction {
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
		last, found = c.LastTransitionTime.Time, evictionOf(*c)
	}
	return found
}

// workloadStatus is what is read of a Workload.
type workloadStatus struct {
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func evictionOf(condition metav1.Condition) *Eviction {
	e := &Eviction{Reason: diagnose.Evicted, Message: condition.Message}
	if condition.Reason == byPreemption {
		e.Reason = diagnose.Preempted
	}
	if by := preemptor.FindStringSubmatch(condition.Message); by != nil {
		e.By = types.UID(by[1])
	}
	return e
}

func (e Eviction) text() string {
	text := "evicted by Kueue"
	if e.Reason == diagnose.Preempted {
		text = "preempted by Kueue"
	}
	if e.ByName != "" {
		text += " in favour of TrainJob `" + e.ByName + "`"
	}
	return text + ": " + e.Message
}
