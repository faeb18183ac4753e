package reconciler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// waitingIn is a job that has said that it is suspended, and is the n-th of a queue.
func waitingIn(queue string, n int) *trainer.TrainJob {
	return trainJobOf(func(trainJob *trainer.TrainJob) {
		trainJob.Name = fmt.Sprintf("%s-%03d", queue, n)
		trainJob.UID = types.UID(trainJob.Name)
		trainJob.Labels = map[string]string{job.QueueLabel: queue}
		trainJob.Spec.Suspend = ptr.To(true)
		trainJob.Status.Conditions = []metav1.Condition{{Type: trainer.TrainJobSuspended, Status: metav1.ConditionTrue, Message: "TrainJob is suspended"}}
	})
}

func workloadOf(trainJob *trainer.TrainJob) *unstructured.Unstructured {
	workload := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"queueName": trainJob.Labels[job.QueueLabel]}}}
	workload.SetGroupVersionKind(workloadKind.WithVersion("v1beta2"))
	workload.SetNamespace(trainJob.Namespace)
	workload.SetName("trainjob-" + trainJob.Name)
	workload.SetLabels(map[string]string{job.WorkloadOfLabel: string(trainJob.UID)})
	return workload
}

// kueueWith is a cluster with Kueue and jobs in queues, whose visibility server answers with a code.
func kueueWith(t *testing.T, code int, jobs ...*trainer.TrainJob) (lines *queues, live *counted, asked *atomic.Int32) {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	order := map[string][]any{}
	var objects []client.Object
	for i, trainJob := range jobs {
		objects = append(objects, trainJob, workloadOf(trainJob))
		queue := trainJob.Labels[job.QueueLabel]
		order[queue] = append(order[queue], map[string]any{
			"metadata":             map[string]any{"ownerReferences": []any{map[string]any{"uid": string(trainJob.UID)}}},
			"positionInLocalQueue": len(order[queue]), "positionInClusterQueue": i,
		})
	}
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		const before, after = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team/localqueues/", "/pendingworkloads"
		queue := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, before), after)
		if r.URL.Path != before+queue+after {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PendingWorkloadsSummary", "apiVersion": "visibility.kueue.x-k8s.io/v1beta2", "items": order[queue]})
	}))
	t.Cleanup(server.Close)
	visibility, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	store := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(kinds()).WithObjects(objects...).Build()
	live = &counted{Reader: store}
	return newQueues(store, live, visibility, newClock(time.Now)), live, asked
}

// kinds are those of Kueue as a cluster tells them: the visibility server has one kind for two resources.
func kinds() apimeta.RESTMapper {
	workload, visible, trainJob := workloadKind.WithVersion("v1beta2"), schema.GroupVersion{Group: visibleQueues.Group, Version: "v1beta2"}, trainer.GroupVersion
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{workload.GroupVersion(), visible, trainJob})
	mapper.Add(workload, apimeta.RESTScopeNamespace)
	mapper.Add(trainJob.WithKind("TrainJob"), apimeta.RESTScopeNamespace)
	summary := visible.WithKind("PendingWorkloadsSummary")
	mapper.AddSpecific(summary, visible.WithResource("clusterqueues"), visible.WithResource("clusterqueue"), apimeta.RESTScopeRoot)
	mapper.AddSpecific(summary, visible.WithResource("localqueues"), visible.WithResource("localqueue"), apimeta.RESTScopeNamespace)
	return mapper
}

// glanceAt returns for whom a look asks for passes, in order.
func glanceAt(t *testing.T, q *queues) []string {
	t.Helper()
	var told []string
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		for {
			select {
			case event := <-q.changed:
				told = append(told, event.Object.GetName())
			case <-ctx.Done():
				return
			}
		}
	}()
	q.look(t.Context())
	cancel()
	<-done
	return told
}

func TestQueuesAreAskedOnceForAllJobs(t *testing.T) {
	var jobs []*trainer.TrainJob
	for i := range 150 {
		jobs = append(jobs, waitingIn("a", i), waitingIn("b", i))
	}
	q, live, asked := kueueWith(t, http.StatusOK, jobs...)
	told := glanceAt(t, q)
	if live.reads.Load() != 1 || asked.Load() != 2 {
		t.Errorf("%d lists of Workloads and %d questions for the order of 2 queues in a namespace", live.reads.Load(), asked.Load())
	}
	if len(told) != waitsTold {
		t.Errorf("%d jobs are told at once, %d may be", len(told), waitsTold)
	}
	heads := slices.Sorted(slices.Values(told[:4]))
	if !slices.Equal(heads, []string{"a-000", "a-001", "b-000", "b-001"}) {
		t.Errorf("the heads of the queues are told first, not %v", heads)
	}
	if said := q.wait(jobs[1]); !strings.HasPrefix(said, "; waits in queue `b` at position 1 of more than 20, and behind 1 job of another queue") {
		t.Error(said)
	}
}

// What is said needs no pass, nor does a cluster in which nobody waits a question.
func TestQueuesAreCalm(t *testing.T) {
	waits, runs := waitingIn("a", 0), waitingIn("a", 1)
	waits.Status.Conditions[0].Message += "; waits in queue `a` at position 1 of 2"
	runs.Spec.Suspend = nil
	q, _, _ := kueueWith(t, http.StatusOK, waits, runs)
	if told := glanceAt(t, q); len(told) > 0 {
		t.Errorf("%v are told what they know", told)
	}
	if q.wait(runs) != "" {
		t.Error("it runs")
	}
	q, live, asked := kueueWith(t, http.StatusOK, runs)
	if q.look(t.Context()) || live.reads.Load()+asked.Load() > 0 {
		t.Error("nobody waits")
	}
	var none *queues
	if none.wait(waits) != "" {
		t.Error("a companion has no queues")
	}
}

func TestQueuesWithoutTheirOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		answer int
		asked  int32
	}{
		"Down":    {http.StatusServiceUnavailable, 1},
		"Unknown": {http.StatusNotFound, 2},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := []*trainer.TrainJob{waitingIn("a", 0), waitingIn("b", 0)}
			q, _, asked := kueueWith(t, tc.answer, jobs...)
			if told := glanceAt(t, q); len(told) != 2 || q.wait(jobs[0]) != "; waits in queue `a`" {
				t.Errorf("%v are told, the first one %q", told, q.wait(jobs[0]))
			}
			if asked.Load() != tc.asked {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
}

func TestClustersWithoutKueue(t *testing.T) {
	c := newCluster(t, waitingIn("a", 0))
	q := newQueues(c.Client, c.live, nil, newClock(time.Now))
	if told := glanceAt(t, q); len(told) > 0 || c.live.reads.Load() > 0 {
		t.Errorf("%v, %d reads", told, c.live.reads.Load())
	}
}
