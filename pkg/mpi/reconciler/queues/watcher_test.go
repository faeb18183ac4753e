package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
	"lockstep.dev/lockstep/test/fakecluster"
)

// waitingIn is a job that has said that it is suspended, and is the n-th of a queue.
func waitingIn(queue string, n int) *trainer.TrainJob {
	return fakecluster.TrainJob(func(trainJob *trainer.TrainJob) {
		trainJob.Name = fmt.Sprintf("%s-%03d", queue, n)
		trainJob.UID = types.UID(trainJob.Name)
		trainJob.Labels = map[string]string{kueue.QueueLabel: queue}
		trainJob.Spec.Suspend = ptr.To(true)
		trainJob.Status.Conditions = []metav1.Condition{{Type: trainer.TrainJobSuspended, Status: metav1.ConditionTrue, Message: "TrainJob is suspended"}}
	})
}

// showWait lets the status and the record of a job show a wait, as a pass does.
func showWait(t *testing.T, trainJob *trainer.TrainJob, text string) {
	t.Helper()
	trainJob.Status.Conditions[0].Message = "TrainJob is suspended" + text
	record, err := json.Marshal(jobv1.Record{UID: trainJob.UID, Queue: &jobv1.Queue{Text: strings.TrimPrefix(text, "; ")}})
	if err != nil {
		t.Fatal(err)
	}
	trainJob.Annotations = map[string]string{jobv1.Annotation: string(record)}
}

func workloadOf(trainJob *trainer.TrainJob) *unstructured.Unstructured {
	workload := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"queueName": trainJob.Labels[kueue.QueueLabel]}}}
	workload.SetGroupVersionKind(workloadKind.WithVersion("v1beta2"))
	workload.SetNamespace(trainJob.Namespace)
	workload.SetName("trainjob-" + trainJob.Name)
	workload.SetLabels(map[string]string{kueue.WorkloadOfLabel: string(trainJob.UID)})
	return workload
}

// fakeKueue is a cluster with Kueue and jobs in queues.
type fakeKueue struct {
	*Watcher
	t     *testing.T
	store client.Client
	live  *fakecluster.Counted
	// asked counts questions to the visibility server, codes are its answers by queue, and those of all others under "".
	asked atomic.Int32
	codes sync.Map
	now   time.Time
	log   logr.Logger
	order map[string][]any
	// fields are those of the spec of a TrainJob that the API server tells.
	fields map[string]any
}

func kueueWith(t *testing.T, code int, jobs ...*trainer.TrainJob) *fakeKueue {
	t.Helper()
	scheme, err := kinds.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	k := &fakeKueue{t: t, now: time.Now(), log: logr.Discard(), order: map[string][]any{}}
	k.codes.Store("", code)
	var objects []client.Object
	for i, trainJob := range jobs {
		objects = append(objects, trainJob, workloadOf(trainJob))
		queue := trainJob.Labels[kueue.QueueLabel]
		k.order[queue] = append(k.order[queue], map[string]any{
			"metadata":             map[string]any{"ownerReferences": []any{map[string]any{"uid": string(trainJob.UID)}}},
			"positionInLocalQueue": len(k.order[queue]), "positionInClusterQueue": i,
		})
	}
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	visibility, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	k.store = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(kueueKinds()).WithObjects(objects...).Build()
	k.live = &fakecluster.Counted{Reader: k.store}
	k.fields = map[string]any{"runtimePatches": map[string]any{}}
	served := discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: server.URL, QPS: -1}).OpenAPIV3()
	k.Watcher = NewWatcher(k.store, k.live, visibility, served, func() time.Time { return k.now })
	return k
}

// ServeHTTP is the visibility server, and the part of the API server that tells fields of kinds.
func (k *fakeKueue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const document = "/openapi/v3/apis/trainer.kubeflow.org/v1alpha1"
	switch r.URL.Path {
	case "/openapi/v3":
		_ = json.NewEncoder(w).Encode(map[string]any{"paths": map[string]any{document[len("/openapi/v3/"):]: map[string]any{"serverRelativeURL": document}}})
		return
	case document:
		spec := map[string]any{"properties": map[string]any{"spec": map[string]any{"properties": k.fields}}}
		_ = json.NewEncoder(w).Encode(map[string]any{"components": map[string]any{"schemas": map[string]any{"org.kubeflow.trainer.v1alpha1.TrainJob": spec}}})
		return
	}
	k.asked.Add(1)
	const before, after = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team/localqueues/", "/pendingworkloads"
	queue := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, before), after)
	if r.URL.Path != before+queue+after {
		k.t.Errorf("asked for %s", r.URL.Path)
	}
	code, own := k.codes.Load(queue)
	if !own {
		code, _ = k.codes.Load("")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code.(int))
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PendingWorkloadsSummary", "apiVersion": "visibility.kueue.x-k8s.io/v1beta2", "items": k.order[queue]})
}

// refuse lets the API server answer lists of Workloads with an error, or as it is where there is none.
func (k *fakeKueue) refuse(err error) {
	if k.live.Reader = k.store; err != nil {
		k.live.Reader = unreadable{k.store, err}
	}
}

type unreadable struct {
	client.Reader
	err error
}

func (r unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return r.err
}

// logs collects what is logged from now on.
func (k *fakeKueue) logs() *[]string {
	var lines []string
	k.log = funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	return &lines
}

// next is the next look, and the passes that it asks for. It returns for whom.
func (k *fakeKueue) next() []string {
	k.t.Helper()
	k.now = k.now.Add(queuePollInterval)
	told := pollAt(ctrl.LoggerInto(k.t.Context(), k.log), k.Watcher)
	for _, name := range told {
		trainJob := k.job(name)
		wait := k.WaitOf(trainJob)
		showWait(k.t, trainJob, wait.Text)
		if err := k.store.Update(k.t.Context(), trainJob); err != nil || !wait.Known {
			k.t.Fatal(name, wait, err)
		}
	}
	return told
}

func (k *fakeKueue) job(name string) *trainer.TrainJob {
	k.t.Helper()
	var trainJob trainer.TrainJob
	if err := k.store.Get(k.t.Context(), types.NamespacedName{Namespace: "team", Name: name}, &trainJob); err != nil {
		k.t.Fatal(err)
	}
	return &trainJob
}

func (k *fakeKueue) says(name, want string) {
	k.t.Helper()
	if got := k.job(name).Status.Conditions[0].Message; got != "TrainJob is suspended"+want {
		k.t.Errorf("%s says %q, want it to end in %q", name, got, want)
	}
}

// quiet are looks that must change nothing.
func (k *fakeKueue) quiet(looks int) {
	k.t.Helper()
	for i := range looks {
		if told := k.next(); len(told) > 0 {
			k.t.Errorf("look %d without an answer: %v are told %q", i+1, told, k.WaitOf(k.job(told[0])).Text)
		}
	}
}

// kueueKinds are those of Kueue as a cluster tells them: the visibility server has one kind for two resources.
func kueueKinds() apimeta.RESTMapper {
	workload, visible, trainJob := workloadKind.WithVersion("v1beta2"), schema.GroupVersion{Group: visibleQueues.Group, Version: "v1beta2"}, trainer.GroupVersion
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{workload.GroupVersion(), visible, trainJob})
	mapper.Add(workload, apimeta.RESTScopeNamespace)
	mapper.Add(trainJob.WithKind("TrainJob"), apimeta.RESTScopeNamespace)
	summary := visible.WithKind("PendingWorkloadsSummary")
	mapper.AddSpecific(summary, visible.WithResource("clusterqueues"), visible.WithResource("clusterqueue"), apimeta.RESTScopeRoot)
	mapper.AddSpecific(summary, visible.WithResource("localqueues"), visible.WithResource("localqueue"), apimeta.RESTScopeNamespace)
	return mapper
}

// pollAt returns for whom a look asks for passes, in order.
func pollAt(background context.Context, q *Watcher) []string {
	var told []string
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(background)
	go func() {
		defer close(done)
		for {
			select {
			case event := <-q.Changed:
				told = append(told, event.Object.GetName())
			case <-ctx.Done():
				return
			}
		}
	}()
	q.pollQueues(background)
	cancel()
	<-done
	return told
}

func TestQueuesAreAskedOnceForAllJobs(t *testing.T) {
	var jobs []*trainer.TrainJob
	for i := range 150 {
		jobs = append(jobs, waitingIn("a", i), waitingIn("b", i))
	}
	q := kueueWith(t, http.StatusOK, jobs...)
	told := pollAt(ctrl.LoggerInto(t.Context(), q.log), q.Watcher)
	if q.live.Reads.Load() != 1 || q.asked.Load() != 2 {
		t.Errorf("%d lists of Workloads and %d questions for the order of 2 queues in a namespace", q.live.Reads.Load(), q.asked.Load())
	}
	if len(told) != maxWaitChanges {
		t.Errorf("%d jobs are told at once, %d may be", len(told), maxWaitChanges)
	}
	heads := slices.Sorted(slices.Values(told[:4]))
	if !slices.Equal(heads, []string{"a-000", "a-001", "b-000", "b-001"}) {
		t.Errorf("the heads of the queues are told first, not %v", heads)
	}
	if said := q.WaitOf(jobs[1]).Text; !strings.HasPrefix(said, "; waits in queue `b` at position 1 of more than 20, and behind 1 job of another queue") {
		t.Error(said)
	}
}

// What is said needs no pass, nor does a cluster in which nobody waits a question.
func TestQueuesAreCalm(t *testing.T) {
	waits, runs := waitingIn("a", 0), waitingIn("a", 1)
	waits.Status.Conditions[0].Message += "; waits in queue `a` at position 1 of 2"
	runs.Spec.Suspend = nil
	q := kueueWith(t, http.StatusOK, waits, runs)
	if told := pollAt(ctrl.LoggerInto(t.Context(), q.log), q.Watcher); len(told) > 0 {
		t.Errorf("%v are told what they know", told)
	}
	if q.WaitOf(runs) != kueue.NoQueueWait() {
		t.Error("it runs")
	}
	q = kueueWith(t, http.StatusOK, runs)
	if q.pollQueues(t.Context()) || q.live.Reads.Load()+q.asked.Load() > 0 {
		t.Error("nobody waits")
	}
	var none *Watcher
	if none.WaitOf(waits).Known {
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
			q := kueueWith(t, tc.answer, waitingIn("a", 0), waitingIn("b", 0))
			if told := q.next(); len(told) != 2 {
				t.Errorf("%v are told", told)
			}
			q.says("a-000", "; waits in queue `a`")
			if q.asked.Load() != tc.asked {
				t.Errorf("asked %d times", q.asked.Load())
			}
		})
	}
}

// A visibility server that is slow once must not cost two writes per job.
func TestOrderIsKeptForSomeLooks(t *testing.T) {
	for name, code := range map[string]int{"Down": http.StatusGatewayTimeout, "Unknown": http.StatusNotFound} {
		t.Run(name, func(t *testing.T) {
			q := kueueWith(t, http.StatusOK, waitingIn("a", 0), waitingIn("b", 0))
			const positioned = "; waits in queue `a` at position 1 of 1"
			q.next()
			q.says("a-000", positioned)
			q.codes.Store("", code)
			q.quiet(3)
			q.codes.Store("", http.StatusOK)
			q.quiet(10) // And it counts anew.
			q.codes.Store("", code)
			q.quiet(keptPolls - 1)
			if told := q.next(); len(told) != 2 {
				t.Errorf("%v are told that nobody knows their positions any more", told)
			}
			q.says("a-000", "; waits in queue `a`")
		})
	}
}

// For a minute after Kueue was installed its visibility server is not known, and a queue that was just made is not for a moment. Somebody
// waits for their position meanwhile: it comes with the next look.
func TestAPositionComesWithTheFirstLookThatKnowsIt(t *testing.T) {
	q := kueueWith(t, http.StatusOK, waitingIn("a", 0), waitingIn("b", 0))
	q.codes.Store("a", http.StatusNotFound)
	for range 7 {
		q.next()
	}
	q.says("a-000", "; waits in queue `a`")
	q.says("b-000", "; waits in queue `b` at position 1 of 1, and behind 1 job of another queue")
	q.codes.Store("a", http.StatusOK)
	q.next()
	q.says("a-000", "; waits in queue `a` at position 1 of 1")
}

func TestWorkloadsThatMayNotBeRead(t *testing.T) {
	q := kueueWith(t, http.StatusOK, waitingIn("a", 0), waitingIn("a", 1))
	q.next()
	q.says("a-001", "; waits in queue `a` at position 2 of 2")
	logged := q.logs()
	q.refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "workloads"}, "", nil))
	q.quiet(keptPolls - 1)
	if told := q.next(); len(told) != 2 {
		t.Errorf("%v are told that nothing is known any more", told)
	}
	q.says("a-001", "")
	q.quiet(60)
	if len(*logged) != 1 {
		t.Errorf("the same is logged %d times: %v", len(*logged), *logged)
	}
	q.refuse(apierrors.NewInternalError(errors.New("no quorum")))
	for range 60 {
		q.next()
	}
	if len(*logged) != 2 {
		t.Errorf("another reason is logged once: %v", *logged)
	}
	q.refuse(nil)
	q.next()
	q.says("a-001", "; waits in queue `a` at position 2 of 2")
}

// A controller that was started again knows nothing of waits, and must not unsay what its predecessor said before it has asked.
func TestNothingIsUnsaidBeforeKueueIsAsked(t *testing.T) {
	waits := waitingIn("a", 0)
	showWait(t, waits, "; waits in queue `a` at position 1 of 1")
	q := kueueWith(t, http.StatusOK, waits)
	if wait := q.WaitOf(waits); wait.Known {
		t.Errorf("%+v", wait)
	}
	q.refuse(apierrors.NewTimeoutError("busy", 1))
	q.quiet(keptPolls - 1)
	q.next()
	q.says("a-000", "")
}

// What the cluster says once Kueue's definitions are deleted, at first, and when the mapping of kinds has been read again.
func TestKueueThatIsGone(t *testing.T) {
	workloads := schema.GroupResource{Group: workloadKind.Group, Resource: "workloads"}
	for name, err := range map[string]error{
		"NotFound": apierrors.NewNotFound(workloads, ""), "NoMatch": &apimeta.NoKindMatchError{GroupKind: workloadKind},
	} {
		t.Run(name, func(t *testing.T) {
			var jobs []*trainer.TrainJob
			for i := range 3 {
				trainJob := waitingIn("a", i)
				trainJob.Namespace = fmt.Sprint("team-", i)
				showWait(t, trainJob, "; waits in queue `a`: no room")
				jobs = append(jobs, trainJob)
			}
			q := kueueWith(t, http.StatusOK, jobs...)
			logged := q.logs()
			q.refuse(err)
			if told := pollAt(ctrl.LoggerInto(t.Context(), q.log), q.Watcher); len(told) != 3 || q.WaitOf(jobs[2]) != kueue.NoQueueWait() {
				t.Errorf("%v are told at once that nothing is known any more: %+v", told, q.WaitOf(jobs[2]))
			}
			if reads := q.live.Reads.Load(); reads != 1 || len(*logged) > 0 {
				t.Errorf("%d reads of 3 namespaces, %v", reads, *logged)
			}
			for range 5 {
				q.now = q.now.Add(queuePollInterval)
				pollAt(ctrl.LoggerInto(t.Context(), q.log), q.Watcher)
			}
			if reads := q.live.Reads.Load(); reads != 6 {
				t.Errorf("%d reads of 3 namespaces in 6 looks", reads)
			}
		})
	}
}

// Kueue admits a job and cannot place it where the field for that is dropped; nothing else says so to its user.
func TestJobsThatKueueAdmitsAndDoesNotResume(t *testing.T) {
	stuck := waitingIn("a", 0)
	q := kueueWith(t, http.StatusOK, stuck)
	workload := workloadOf(stuck)
	if err := q.store.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil {
		t.Fatal(err)
	}
	since := q.now.Add(-time.Hour).UTC().Format(time.RFC3339)
	workload.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "QuotaReserved", "status": "True", "lastTransitionTime": since},
		map[string]any{"type": "Admitted", "status": "True", "lastTransitionTime": since},
	}}
	if err := q.store.Update(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
	q.next()
	const admitted = "; waits in queue `a`: Kueue has admitted it and does not resume it: "
	q.says("a-000", admitted+"the log of Kueue's controller has the reason")
	q.fields = nil
	q.next()
	q.says("a-000", admitted+"the TrainJobs of this cluster have no field spec.runtimePatches, which Kueue sets. "+
		"The platform team installs the CRDs of Kubeflow Trainer 2.2 or later")
	q.quiet(3)
}

func TestJobThatLeavesItsQueue(t *testing.T) {
	q := kueueWith(t, http.StatusOK, waitingIn("a", 0))
	q.next()
	left := q.job("a-000")
	left.Labels = nil
	if err := q.store.Update(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	q.next()
	q.says("a-000", "")
	q.quiet(1)
	if len(q.workloads)+len(q.orders) > 0 {
		t.Errorf("of queues in which nobody waits nothing is kept: %v %v", q.workloads, q.orders)
	}
}

func TestClustersWithoutKueue(t *testing.T) {
	waits := waitingIn("a", 0)
	showWait(t, waits, "; waits in queue `a` at position 1 of 1")
	store := fakecluster.Store(t, "", waits, waitingIn("a", 1))
	live := &fakecluster.Counted{Reader: store}
	q := NewWatcher(store, live, nil, nil, time.Now)
	if told := pollAt(t.Context(), q); !slices.Equal(told, []string{"a-000"}) || live.Reads.Load() > 0 {
		t.Errorf("%v, %d reads", told, live.Reads.Load())
	}
}

// TestPauseBetweenLooks: a cluster with many Workloads is not read all the time, and one slow answer keeps nobody waiting for minutes.
func TestPauseBetweenLooks(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond: 10 * time.Second, time.Second: 20 * time.Second, queueTimeout: 30 * time.Second, time.Minute: 30 * time.Second,
	} {
		if got := pauseAfterPoll(took); got != want {
			t.Errorf("after %v: %v, want %v", took, got, want)
		}
	}
}
