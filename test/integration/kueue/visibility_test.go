package kueue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	visible "sigs.k8s.io/kueue/apis/visibility/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/visibility/storage"

	ours "lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// Kueue's visibility server answers from this storage; the controller reads what it answers without Kueue's types.
func TestOrderOfAQueueIsRead(t *testing.T) {
	queues := qcache.NewManagerForUnitTests(utiltesting.NewFakeClient(), nil, qcache.WithPreemptionExpectations(expectations.New()))
	if err := queues.AddClusterQueue(t.Context(), &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: kueue.ClusterQueueSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"others", "jobs"} {
		if err := queues.AddLocalQueue(t.Context(), &kueue.LocalQueue{ObjectMeta: owned(name), Spec: kueue.LocalQueueSpec{ClusterQueue: "team"}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"others", "jobs", "jobs"} {
		if err := queues.AddOrUpdateWorkload(ctrl.Log, pending(name, types.UID("uid-"+string(rune('a'+i))), int32(9-i))); err != nil {
			t.Fatal(err)
		}
	}
	served := storage.NewStorage(queues)
	if _, is := served["localqueues"].New().(*visible.PendingWorkloadsSummary); !is {
		t.Error("the kind of the resource localqueues has changed: see reconciler.visibleQueues")
	}
	pendingWorkloads := served["localqueues/pendingworkloads"].(rest.GetterWithOptions) //nolint:forcetypeassert // a panic says it
	answer, err := pendingWorkloads.Get(request.WithNamespace(t.Context(), "team"), "jobs", &visible.PendingWorkloadOptions{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(answer)
	if err != nil {
		t.Fatal(err)
	}
	want := ours.QueueOrder{Length: 2, Positions: map[types.UID]ours.QueuePosition{"uid-b": {InQueue: 0, Overall: 1}, "uid-c": {InQueue: 1, Overall: 2}}}
	if diff := cmp.Diff(want, ours.ParseOrder(unstructured.Unstructured{Object: content})); diff != "" {
		t.Error(diff)
	}
}

// The same for the Workloads themselves.
func TestWorkloadIsRead(t *testing.T) {
	workload := pending("jobs", "uid-a", 7)
	workload.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now().Rfc3339Copy()}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(workload)
	if err != nil {
		t.Fatal(err)
	}
	got, read := ours.WorkloadOf(unstructured.Unstructured{Object: content})
	if !read || got.Job != "uid-a" || got.Queue != "jobs" || got.Priority != 7 || !got.Reserved.Equal(workload.Status.Conditions[0].LastTransitionTime.Time) {
		t.Errorf("%v %+v", read, got)
	}
}

func owned(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "team"} }

// pending is the Workload of a TrainJob that waits.
func pending(queue string, uid types.UID, priority int32) *kueue.Workload {
	workload := &kueue.Workload{
		ObjectMeta: owned("trainjob-" + string(uid)),
		Spec:       kueue.WorkloadSpec{QueueName: kueue.LocalQueueName(queue), Priority: ptr.To(priority), Active: ptr.To(true)},
	}
	workload.UID = "workload-" + uid
	workload.Labels = map[string]string{ours.WorkloadOfLabel: string(uid)}
	workload.OwnerReferences = []metav1.OwnerReference{{APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob", Name: string(uid), UID: uid}}
	return workload
}
