package reconciler

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// newWorkQueue makes the queue of passes: client-go's. A controller that was stopped while passes waited could hang in
// controller-runtime's own until it was killed, and kept its lease (kubernetes-sigs/controller-runtime#3538, mended in 0.25, which stands
// on a later Kubernetes).
func newWorkQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name})
}
