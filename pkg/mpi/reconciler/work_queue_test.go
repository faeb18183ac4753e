package reconciler

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A controller ends when it is told to, however many passes wait at that moment.
func TestWorkersEndWithTheirQueue(t *testing.T) {
	for round := range 50 {
		queue := newWorkQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		var workers sync.WaitGroup
		for worker := range 20 {
			workers.Go(func() {
				for pass := 0; ; pass++ {
					queue.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: fmt.Sprint(worker, pass)}})
					request, shutdown := queue.Get()
					if shutdown {
						return
					}
					queue.Done(request)
				}
			})
		}
		time.Sleep(5 * time.Millisecond)
		queue.ShutDown()
		ended := make(chan struct{})
		go func() { workers.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("round %d: workers still wait for a queue that was shut down", round)
		}
	}
}
