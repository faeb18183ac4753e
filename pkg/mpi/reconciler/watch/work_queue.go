package watch

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// newWorkQueue makes the queue of passes: client-go's, in which namespaces take turns. A controller that was stopped while passes waited could hang in
// controller-runtime's own until it was killed, and kept its lease (kubernetes-sigs/controller-runtime#3538, mended in 0.25, which stands
// on a later Kubernetes); and its priorities know no tenants.
func newWorkQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	passes := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: newFairQueue()})
	delayed := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: passes})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delayed})
}

// fairQueue is the order of passes that wait: each namespace has one in turn, and within it who came first is first. However many jobs a tenant
// creates at once, others wait for one pass of theirs at a time, and not for all.
type fairQueue struct {
	// next are the namespaces with passes that wait, each once.
	next   workqueue.Queue[string]
	of     map[string]workqueue.Queue[reconcile.Request]
	passes int
}

func newFairQueue() *fairQueue {
	return &fairQueue{next: workqueue.DefaultQueue[string](), of: map[string]workqueue.Queue[reconcile.Request]{}}
}

// Touch changes nothing: a pass that is asked for again keeps its place.
func (t *fairQueue) Touch(reconcile.Request) {}

// Push adds a pass at the end of its namespace, and a namespace at the end of all.
func (t *fairQueue) Push(pass reconcile.Request) {
	own, waits := t.of[pass.Namespace]
	if !waits {
		own = workqueue.DefaultQueue[reconcile.Request]()
		t.of[pass.Namespace] = own
		t.next.Push(pass.Namespace)
	}
	own.Push(pass)
	t.passes++
}

// Len is how many passes wait.
func (t *fairQueue) Len() int { return t.passes }

// Pop takes the pass whose turn it is.
func (t *fairQueue) Pop() reconcile.Request {
	namespace := t.next.Pop()
	own := t.of[namespace]
	pass := own.Pop()
	t.passes--
	if own.Len() == 0 {
		delete(t.of, namespace)
	} else {
		t.next.Push(namespace)
	}
	return pass
}
