package kueue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// forUrgent is Kueue's message (sigs.k8s.io/kueue pkg/scheduler/preemption).
const forUrgent = "Preempted to accommodate a workload (UID: 5c023c28-8533-4927-b266-56bca5e310c1, JobUID: 4548c8bd-c399-4027-bb02-6114f3a8cdeb) due to prioritization in the ClusterQueue; preemptor path: /team; preemptee path: /team"

func workloadWith(status, reason, message string, at time.Time) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no quota", "lastTransitionTime": at.Format(time.RFC3339)},
		map[string]any{"type": "Evicted", "status": status, "reason": reason, "message": message, "lastTransitionTime": at.Format(time.RFC3339)},
	}}}}
}

func TestEvictionIn(t *testing.T) {
	preempted := &Eviction{Reason: diagnose.Preempted, Message: forUrgent, By: "4548c8bd-c399-4027-bb02-6114f3a8cdeb"}
	cases := map[string]struct {
		reason    string
		workloads []unstructured.Unstructured
		want      *Eviction
	}{
		"Preempted":   {"another job needs the room", []unstructured.Unstructured{workloadWith("True", "Preempted", forUrgent, now)}, preempted},
		"NotReady":    {"Kueue's waitForPodsReady", []unstructured.Unstructured{workloadWith("True", "PodsReadyTimeout", "Exceeded the PodsReady timeout", now)}, &Eviction{Reason: diagnose.Evicted, Message: "Exceeded the PodsReady timeout"}},
		"UnknownJob":  {"Kueue says UNKNOWN where it does not know", []unstructured.Unstructured{workloadWith("True", "Preempted", "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to x", now)}, &Eviction{Reason: diagnose.Preempted, Message: "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to x"}},
		"Last":        {"the last word counts", []unstructured.Unstructured{workloadWith("True", "Preempted", forUrgent, now), workloadWith("True", "ClusterQueueStopped", "stopped", now.Add(-time.Hour))}, preempted},
		"NotEvicted":  {"somebody suspended it by hand", []unstructured.Unstructured{workloadWith("False", "QuotaReserved", "", now)}, nil},
		"NoWorkload":  {"", nil, nil},
		"OtherShapes": {"what cannot be read says nothing", []unstructured.Unstructured{{Object: map[string]any{"status": "odd"}}}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, FindEviction(tc.workloads)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
