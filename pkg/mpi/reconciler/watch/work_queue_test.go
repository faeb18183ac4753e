package watch

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// However many passes of one namespace wait, the next one of another comes after one of each, and none is lost.
func TestNamespacesTakeTurns(t *testing.T) {
	queue := newWorkQueue("", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	request := func(namespace string, number int) reconcile.Request {
		return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: fmt.Sprint(number)}}
	}
	for i := range 1000 {
		queue.Add(request("noisy", i))
	}
	for i := range 3 {
		queue.Add(request("calm", i))
	}
	queue.Add(request("calm", 0))
	queue.AddRateLimited(request("late", 0))
	for queue.Len() < 1004 {
		time.Sleep(time.Millisecond)
	}
	var first []string
	for range 1004 {
		next, _ := queue.Get()
		queue.Done(next)
		if first = append(first, next.Namespace+" "+next.Name); len(first) == 8 {
			want := []string{"noisy 0", "calm 0", "late 0", "noisy 1", "calm 1", "noisy 2", "calm 2", "noisy 3"}
			if diff := cmp.Diff(want, first); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		}
	}
	if last := first[len(first)-1]; last != "noisy 999" || queue.Len() != 0 {
		t.Errorf("the last one is %s, and %d wait", last, queue.Len())
	}
}

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
