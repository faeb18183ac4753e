package kueue

import (
	"regexp"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// The condition of a Workload that Kueue has stopped, and its reason (sigs.k8s.io/kueue apis/kueue/v1beta2).
const (
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
