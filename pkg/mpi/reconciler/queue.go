package reconciler

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

const (
	// queuesRead is how often Kueue is asked about the queues in which jobs wait, and so how often a job may be told of a change.
	queuesRead = 10 * time.Second
	// queuesIdle is how often the cache is asked whether a job waits, while none does.
	queuesIdle = 2 * time.Second
	// queuesCalm is how many times as long as a look took the next one waits at least, so that a cluster with thousands of
	// Workloads is not read all the time.
	queuesCalm = 20
	// waitsTold is how many jobs may be told of a change in one look, the first of each queue before others: 20 writes a second.
	waitsTold = 200
	// queueAnswers is how long Kueue may take to tell the order of a queue.
	queueAnswers     = 5 * time.Second
	workloadsPerPage = 500
)

// visibleQueues are local queues as Kueue's visibility server has them, an aggregated API that a cluster may lack; the cluster says in
// which version. They cannot be found by a kind: that server calls what it answers PendingWorkloadsSummary, for ClusterQueues too.
var visibleQueues = schema.GroupVersionResource{Group: "visibility.kueue.x-k8s.io", Resource: "localqueues"}

// queues asks Kueue about the queues in which jobs wait: two reads for a queue, however many jobs are in it, and none while no job
// waits. A pass is asked for only for jobs whose status says something else.
type queues struct {
	client client.Client
	live   client.Reader
	// visibility asks the visibility server.
	visibility dynamic.Interface
	clock      *clock
	// changed tells the controller of jobs of which something else is to be said.
	changed chan event.GenericEvent

	mu    sync.Mutex
	waits map[types.UID]string
}

func newQueues(client client.Client, live client.Reader, visibility dynamic.Interface, clock *clock) *queues {
	return &queues{client: client, live: live, visibility: visibility, clock: clock, changed: make(chan event.GenericEvent)}
}

// wait returns what was last known of the wait of a job, empty for one that does not wait. Nil queues know nothing.
func (q *queues) wait(trainJob *trainer.TrainJob) string {
	if q == nil || !job.Queued(trainJob) {
		return ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waits[trainJob.UID]
}

// Start looks again and again until the manager ends.
func (q *queues) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		began := time.Now()
		pause := queuesIdle
		if q.look(ctx) {
			pause = max(queuesRead, queuesCalm*time.Since(began))
		}
		sleep(ctx, pause)
	}
	return nil
}

// look asks about all queues in which jobs wait, and says whether there are any.
func (q *queues) look(ctx context.Context) bool {
	waiting := q.waiting(ctx)
	seen := glance{queues: q, ordered: true, waits: map[types.UID]string{}}
	for _, namespace := range slices.Sorted(maps.Keys(waiting)) {
		if !seen.namespace(ctx, namespace, waiting[namespace]) {
			break
		}
	}
	q.mu.Lock()
	q.waits = seen.waits
	q.mu.Unlock()
	q.tell(ctx, seen.news)
	return len(waiting) > 0
}

// waiting returns the jobs that wait, by namespace and queue.
func (q *queues) waiting(ctx context.Context) map[string]map[string][]*trainer.TrainJob {
	var list trainer.TrainJobList
	if err := q.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the TrainJobs that wait in queues")
		return nil
	}
	waiting := map[string]map[string][]*trainer.TrainJob{}
	for i := range list.Items {
		trainJob := &list.Items[i]
		if !job.Queued(trainJob) {
			continue
		}
		if waiting[trainJob.Namespace] == nil {
			waiting[trainJob.Namespace] = map[string][]*trainer.TrainJob{}
		}
		queue := trainJob.Labels[job.QueueLabel]
		waiting[trainJob.Namespace][queue] = append(waiting[trainJob.Namespace][queue], trainJob)
	}
	return waiting
}

// tell asks for passes of the jobs that have news, those first that are at the heads of their queues.
func (q *queues) tell(ctx context.Context, all []waitNews) {
	slices.SortStableFunc(all, func(a, b waitNews) int { return cmp.Compare(a.rank, b.rank) })
	for _, news := range all[:min(len(all), waitsTold)] {
		trainJob := &trainer.TrainJob{}
		trainJob.Namespace, trainJob.Name = news.job.Namespace, news.job.Name
		select {
		case q.changed <- event.GenericEvent{Object: trainJob}:
		case <-ctx.Done():
			return
		}
	}
}

// waitNews is a job of which something else is to be said.
type waitNews struct {
	job  client.ObjectKey
	rank int
}

// glance is one look at all queues.
type glance struct {
	*queues
	// ordered is false once Kueue has not told the order of a queue; then it is not asked any more.
	ordered bool
	waits   map[types.UID]string
	news    []waitNews
}

// namespace looks at the queues of a namespace. It returns false where the cluster has no Kueue.
func (g *glance) namespace(ctx context.Context, namespace string, waiting map[string][]*trainer.TrainJob) bool {
	workloads, err := g.workloads(ctx, namespace)
	if err != nil && !apimeta.IsNoMatchError(err) {
		ctrl.LoggerFrom(ctx).Info("nobody says how long jobs still wait", "namespace", namespace, "reason", err.Error())
	}
	if err != nil {
		return !apimeta.IsNoMatchError(err)
	}
	for _, queue := range slices.Sorted(maps.Keys(waiting)) {
		line := job.NewLine(queue, workloads, g.places(ctx, client.ObjectKey{Namespace: namespace, Name: queue}))
		for _, trainJob := range waiting[queue] {
			g.note(trainJob, line)
		}
	}
	return true
}

func (g *glance) note(trainJob *trainer.TrainJob, line job.Line) {
	wait, rank := line.Wait(trainJob, g.clock.now())
	g.waits[trainJob.UID] = wait
	if !job.Told(trainJob, wait) {
		g.news = append(g.news, waitNews{client.ObjectKeyFromObject(trainJob), rank})
	}
}

// workloads reads all Workloads of a namespace, page by page.
func (q *queues) workloads(ctx context.Context, namespace string) ([]job.Workload, error) {
	mapping, err := q.client.RESTMapper().RESTMapping(workloadKind)
	if err != nil {
		return nil, err
	}
	var found []job.Workload
	for next := ""; ; {
		var page unstructured.UnstructuredList
		page.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind("WorkloadList"))
		if err := q.live.List(ctx, &page, client.InNamespace(namespace), client.Limit(workloadsPerPage), client.Continue(next)); err != nil {
			return nil, err
		}
		for _, object := range page.Items {
			if workload, read := job.WorkloadOf(object); read {
				found = append(found, workload)
			}
		}
		if next = page.GetContinue(); next == "" {
			return found, nil
		}
	}
}

// places reads the order of a queue. It is nil where nobody tells it, which is no mistake: the visibility server may be missing,
// or not up, and Kueue may not know the queue.
func (g *glance) places(ctx context.Context, name client.ObjectKey) []job.Place {
	if !g.ordered {
		return nil
	}
	summary, err := g.pending(ctx, name)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("nobody tells the order of a queue", "queue", name.String(), "reason", err.Error())
		g.ordered = apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
		return nil
	}
	return job.PlacesIn(*summary)
}

func (q *queues) pending(ctx context.Context, name client.ObjectKey) (*unstructured.Unstructured, error) {
	resource, err := q.client.RESTMapper().ResourceFor(visibleQueues)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, queueAnswers)
	defer cancel()
	return q.visibility.Resource(resource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{}, "pendingworkloads")
}
