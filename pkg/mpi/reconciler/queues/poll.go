package queues

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

const (
	// queueTimeout is how long Kueue may take to tell the order of a queue.
	queueTimeout = 5 * time.Second
	// workloadsPerPage bounds the memory that a look takes. For its sake Workloads are not read with resourceVersion=0: API servers
	// ignore the limit of such a list (k8s.io/apiserver pkg/storage/cacher computeListLimit). Those of Kubernetes 1.31 and later
	// answer lists without a resourceVersion from their caches, too.
	workloadsPerPage = 500
)

// visibleQueues are local queues as Kueue's visibility server has them, an aggregated API that a cluster may lack; the cluster says in
// which version. They cannot be found by a kind: that server calls what it answers PendingWorkloadsSummary, for ClusterQueues too.
var visibleQueues = schema.GroupVersionResource{Group: "visibility.kueue.x-k8s.io", Resource: "localqueues"}

// queuePoll is one look at all queues.
type queuePoll struct {
	*Watcher
	now   time.Time
	waits map[types.UID]kueue.QueueWait
	news  []waitChange
	// gone and silent are why no other namespace, and no other queue, is asked about in this look: the cluster has no Kueue, and
	// the visibility server does not answer.
	gone, silent error
	// hasPatches is hasRuntimePatches, asked once in a look.
	hasPatches func() (bool, error)
}

// waitChange is a job of which something else is to be said.
type waitChange struct {
	job  client.ObjectKey
	rank int
}

// pollNamespace looks at the queues of a namespace.
func (g *queuePoll) pollNamespace(ctx context.Context, namespace string, waiting map[string][]*trainer.TrainJob) {
	workloads, asked := g.askWorkloads(ctx, namespace)
	for _, queue := range slices.Sorted(maps.Keys(waiting)) {
		if !asked.wasAnswered() {
			g.keepWaits(waiting[queue], asked)
			continue
		}
		line := kueue.NewLocalQueue(queue, workloads, g.orderOfQueue(ctx, client.ObjectKey{Namespace: namespace, Name: queue}))
		for _, trainJob := range waiting[queue] {
			wait, rank := line.WaitOf(trainJob, g.now)
			if wait.NotResumed {
				wait.Text += g.misfitText()
			}
			g.noteWait(trainJob, wait, rank)
		}
	}
}

// keepWaits leaves what was said of jobs for a while, but not where Kueue is gone.
func (g *queuePoll) keepWaits(jobs []*trainer.TrainJob, asked *workloadsQuery) {
	for _, trainJob := range jobs {
		wait := g.Watcher.waits[trainJob.UID]
		if asked.gone || asked.isStale() {
			wait = kueue.NoQueueWait()
		}
		g.noteWait(trainJob, wait, 0)
	}
}

func (g *queuePoll) noteWait(trainJob *trainer.TrainJob, wait kueue.QueueWait, rank int) {
	g.waits[trainJob.UID] = wait
	if !kueue.ShowsWait(trainJob, wait) {
		g.news = append(g.news, waitChange{client.ObjectKeyFromObject(trainJob), rank})
	}
}

// workloadsQuery is the question for the Workloads of a namespace. Gone is that the cluster has no such kind.
type workloadsQuery struct {
	cachedQuery
	gone bool
}

// askWorkloads asks for the Workloads of a namespace.
func (g *queuePoll) askWorkloads(ctx context.Context, namespace string) ([]kueue.Workload, *workloadsQuery) {
	asked := getOrNew(g.workloads, namespace)
	var found []kueue.Workload
	err := g.gone
	if err == nil {
		found, err = g.listWorkloads(ctx, namespace)
	}
	if asked.gone = isMissingKindOrObject(err); asked.gone {
		g.gone = err
	}
	if asked.recordAnswer(err) && !asked.gone {
		ctrl.LoggerFrom(ctx).Info("nobody says how long jobs still wait", "namespace", namespace, "reason", err.Error())
	}
	return found, asked
}

// listWorkloads reads all Workloads of a namespace, page by page.
func (q *Watcher) listWorkloads(ctx context.Context, namespace string) ([]kueue.Workload, error) {
	mapping, err := q.client.RESTMapper().RESTMapping(workloadKind)
	if err != nil {
		return nil, err
	}
	var found []kueue.Workload
	for next := ""; ; {
		var page unstructured.UnstructuredList
		page.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind("WorkloadList"))
		if err := q.live.List(ctx, &page, client.InNamespace(namespace), client.Limit(workloadsPerPage), client.Continue(next)); err != nil {
			return nil, err
		}
		for _, object := range page.Items {
			if workload, read := kueue.WorkloadOf(object); read {
				found = append(found, workload)
			}
		}
		if next = page.GetContinue(); next == "" {
			return found, nil
		}
	}
}

// orderQuery is the order of a queue as it was told last.
type orderQuery struct {
	cachedQuery
	order *kueue.QueueOrder
}

// orderOfQueue asks for the order of a queue. It is nil where nobody has told it lately, which is not a mistake: the
// visibility server may be missing, or not up, and Kueue may not know the queue.
func (g *queuePoll) orderOfQueue(ctx context.Context, name client.ObjectKey) *kueue.QueueOrder {
	known := getOrNew(g.orders, name)
	g.askOrder(ctx, name, known)
	if known.isStale() {
		known.order = nil
	}
	return known.order
}

func (g *queuePoll) askOrder(ctx context.Context, name client.ObjectKey, known *orderQuery) {
	err := g.silent
	if err == nil {
		var summary *unstructured.Unstructured
		if summary, err = g.pendingWorkloads(ctx, name); err == nil {
			order := kueue.ParseOrder(*summary)
			known.order = &order
		} else if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) { // which are about this queue
			g.silent = err
		}
	}
	if known.recordAnswer(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("nobody tells the order of a queue", "queue", name.String(), "reason", err.Error())
	}
}

func (q *Watcher) pendingWorkloads(ctx context.Context, name client.ObjectKey) (*unstructured.Unstructured, error) {
	resource, err := q.client.RESTMapper().ResourceFor(visibleQueues)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	return q.visibility.Resource(resource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{}, "pendingworkloads")
}
