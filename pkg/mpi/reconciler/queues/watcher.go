package queues

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/openapi"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

const (
	// queuePollInterval is how often Kueue is asked about the queues in which jobs wait, and so how often a job may be told of a change.
	queuePollInterval = 10 * time.Second
	// queueIdleInterval is how often the cache is asked whether a job waits, while none does.
	queueIdleInterval = 2 * time.Second
	// queuePollBackoff is how many times as long as a look took the next one waits at least, so that a cluster with thousands of
	// Workloads is not read all the time.
	queuePollBackoff = 20
	// queuePollMaxInterval is the longest pause between two looks. A look takes long, too, where Kueue does not answer until its time is up, as
	// right after its installation, and jobs must not wait for minutes to be told their position then.
	queuePollMaxInterval = 30 * time.Second
	// maxWaitChanges is how many jobs may be told of a change in one look, the first of each queue before others: 20 writes a second.
	maxWaitChanges = 200
)

// Watcher asks Kueue about the queues in which jobs wait: two reads for a queue, however many jobs are in it, and none while no job
// waits. A pass is asked for only for jobs whose status says something else.
type Watcher struct {
	client client.Client
	live   client.Reader
	// visibility asks the visibility server.
	visibility dynamic.Interface
	// served reads the fields of the API server's kinds.
	served openapi.Client
	now    func() time.Time
	// changed tells the controller of jobs of which something else is to be said.
	Changed chan event.GenericEvent

	// workloads are by namespace, orders by queue: of all in which jobs wait, and of no others.
	workloads map[string]*workloadsQuery
	orders    map[client.ObjectKey]*orderQuery

	mu    sync.Mutex
	waits map[types.UID]kueue.QueueWait
}

// NewWatcher returns a Watcher that has asked nothing yet.
func NewWatcher(
	client client.Client, live client.Reader, visibility dynamic.Interface, served openapi.Client, now func() time.Time,
) *Watcher {
	return &Watcher{
		client: client, live: live, visibility: visibility, served: served, now: now, Changed: make(chan event.GenericEvent),
		workloads: map[string]*workloadsQuery{}, orders: map[types.NamespacedName]*orderQuery{},
	}
}

// WaitOf returns what was last known of the wait of a job. Nil queues know nothing.
func (q *Watcher) WaitOf(trainJob *trainer.TrainJob) kueue.QueueWait {
	if q == nil {
		return kueue.QueueWait{}
	}
	if !kueue.IsQueued(trainJob) {
		return kueue.NoQueueWait()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waits[trainJob.UID]
}

// Start looks again and again until the manager ends.
func (q *Watcher) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		began := time.Now()
		pause := queueIdleInterval
		if q.pollQueues(ctx) {
			pause = pauseAfterPoll(time.Since(began))
		}
		sleep.For(ctx, pause)
	}
	return nil
}

// pauseAfterPoll is how long the next look waits after one that took some time.
func pauseAfterPoll(took time.Duration) time.Duration {
	return min(max(queuePollInterval, queuePollBackoff*took), queuePollMaxInterval)
}

// pollQueues asks about all queues in which jobs wait, and reports whether there are any.
func (q *Watcher) pollQueues(ctx context.Context) bool {
	waiting, former := q.waitingJobs(ctx)
	q.forgetEmptyQueues(waiting)
	seen := queuePoll{Watcher: q, now: q.now(), waits: map[types.UID]kueue.QueueWait{}}
	seen.hasPatches = sync.OnceValues(func() (bool, error) { return hasRuntimePatches(q.served) })
	for _, trainJob := range former {
		seen.noteWait(trainJob, kueue.NoQueueWait(), 0)
	}
	for _, namespace := range slices.Sorted(maps.Keys(waiting)) {
		seen.pollNamespace(ctx, namespace, waiting[namespace])
	}
	q.mu.Lock()
	q.waits = seen.waits
	q.mu.Unlock()
	q.requestPasses(ctx, seen.news)
	return len(waiting) > 0
}

// waitingJobs returns the jobs that wait, by namespace and queue, and those that still say so but are in no queue any more.
func (q *Watcher) waitingJobs(ctx context.Context) (waiting map[string]map[string][]*trainer.TrainJob, former []*trainer.TrainJob) {
	var list trainer.TrainJobList
	if err := q.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the TrainJobs that wait in queues")
		return nil, nil
	}
	waiting = map[string]map[string][]*trainer.TrainJob{}
	for i := range list.Items {
		trainJob := &list.Items[i]
		if kueue.HasLeftQueue(trainJob) {
			former = append(former, trainJob)
		}
		if !kueue.IsQueued(trainJob) {
			continue
		}
		if waiting[trainJob.Namespace] == nil {
			waiting[trainJob.Namespace] = map[string][]*trainer.TrainJob{}
		}
		queue := trainJob.Labels[kueue.QueueLabel]
		waiting[trainJob.Namespace][queue] = append(waiting[trainJob.Namespace][queue], trainJob)
	}
	return waiting, former
}

// forgetEmptyQueues drops what is known of queues in which nobody waits any more.
func (q *Watcher) forgetEmptyQueues(waiting map[string]map[string][]*trainer.TrainJob) {
	maps.DeleteFunc(q.workloads, func(namespace string, _ *workloadsQuery) bool { return waiting[namespace] == nil })
	maps.DeleteFunc(q.orders, func(name client.ObjectKey, _ *orderQuery) bool { return waiting[name.Namespace][name.Name] == nil })
}

// requestPasses asks for passes of the jobs that have news, those first that are at the heads of their queues.
func (q *Watcher) requestPasses(ctx context.Context, all []waitChange) {
	slices.SortStableFunc(all, func(a, b waitChange) int { return cmp.Compare(a.rank, b.rank) })
	for _, news := range all[:min(len(all), maxWaitChanges)] {
		trainJob := &trainer.TrainJob{}
		trainJob.Namespace, trainJob.Name = news.job.Namespace, news.job.Name
		select {
		case q.Changed <- event.GenericEvent{Object: trainJob}:
		case <-ctx.Done():
			return
		}
	}
}
