package reconciler

import (
	"context"
	"maps"
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

const (
	// queueAnswers is how long Kueue may take to tell the order of a queue.
	queueAnswers = 5 * time.Second
	// workloadsPerPage bounds the memory that a look takes. For its sake Workloads are not read with resourceVersion=0: API servers
	// ignore the limit of such a list (k8s.io/apiserver pkg/storage/cacher computeListLimit). Those of Kubernetes 1.31 and later
	// answer lists without a resourceVersion from their caches, too.
	workloadsPerPage = 500
)

// visibleQueues are local queues as Kueue's visibility server has them, an aggregated API that a cluster may lack; the cluster says in
// which version. They cannot be found by a kind: that server calls what it answers PendingWorkloadsSummary, for ClusterQueues too.
var visibleQueues = schema.GroupVersionResource{Group: "visibility.kueue.x-k8s.io", Resource: "localqueues"}

// glance is one look at all queues.
type glance struct {
	*queues
	now   time.Time
	waits map[types.UID]job.Wait
	news  []waitNews
	// gone and silent are why no other namespace, and no other queue, is asked about in this look: the cluster has no Kueue, and
	// the visibility server does not answer.
	gone, silent error
}

// waitNews is a job of which something else is to be said.
type waitNews struct {
	job  client.ObjectKey
	rank int
}

// namespace looks at the queues of a namespace.
func (g *glance) namespace(ctx context.Context, namespace string, waiting map[string][]*trainer.TrainJob) {
	workloads, asked := g.ask(ctx, namespace)
	for _, queue := range slices.Sorted(maps.Keys(waiting)) {
		if !asked.answered() {
			g.unanswered(waiting[queue], asked)
			continue
		}
		line := job.NewLine(queue, workloads, g.order(ctx, client.ObjectKey{Namespace: namespace, Name: queue}))
		for _, trainJob := range waiting[queue] {
			wait, rank := line.Wait(trainJob, g.now)
			g.note(trainJob, wait, rank)
		}
	}
}

// unanswered leaves what was said of jobs for a while, but not where Kueue is gone.
func (g *glance) unanswered(jobs []*trainer.TrainJob, asked *workloadsOf) {
	for _, trainJob := range jobs {
		wait := g.queues.waits[trainJob.UID]
		if asked.gone || asked.stale() {
			wait = job.NoWait()
		}
		g.note(trainJob, wait, 0)
	}
}

func (g *glance) note(trainJob *trainer.TrainJob, wait job.Wait, rank int) {
	g.waits[trainJob.UID] = wait
	if !job.Told(trainJob, wait) {
		g.news = append(g.news, waitNews{client.ObjectKeyFromObject(trainJob), rank})
	}
}

// workloadsOf is the question for the Workloads of a namespace. Gone is that the cluster has no such kind.
type workloadsOf struct {
	question
	gone bool
}

// ask asks for the Workloads of a namespace.
func (g *glance) ask(ctx context.Context, namespace string) ([]job.Workload, *workloadsOf) {
	asked := at(g.workloads, namespace)
	var found []job.Workload
	err := g.gone
	if err == nil {
		found, err = g.listed(ctx, namespace)
	}
	if asked.gone = missing(err); asked.gone {
		g.gone = err
	}
	if asked.heard(err) && !asked.gone {
		ctrl.LoggerFrom(ctx).Info("nobody says how long jobs still wait", "namespace", namespace, "reason", err.Error())
	}
	return found, asked
}

// listed reads all Workloads of a namespace, page by page.
func (q *queues) listed(ctx context.Context, namespace string) ([]job.Workload, error) {
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

// orderOf is the order of a queue as it was told last.
type orderOf struct {
	question
	order *job.Order
}

// order asks for the order of a queue. It is nil where nobody has told it lately, which is no mistake: the
// visibility server may be missing, or not up, and Kueue may not know the queue.
func (g *glance) order(ctx context.Context, name client.ObjectKey) *job.Order {
	known := at(g.orders, name)
	g.askOrder(ctx, name, known)
	if known.stale() {
		known.order = nil
	}
	return known.order
}

func (g *glance) askOrder(ctx context.Context, name client.ObjectKey, known *orderOf) {
	err := g.silent
	if err == nil {
		var summary *unstructured.Unstructured
		if summary, err = g.pending(ctx, name); err == nil {
			order := job.OrderIn(*summary)
			known.order = &order
		} else if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) { // which are about this queue
			g.silent = err
		}
	}
	if known.heard(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("nobody tells the order of a queue", "queue", name.String(), "reason", err.Error())
	}
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
