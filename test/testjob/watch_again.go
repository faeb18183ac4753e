package testjob

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// untilNextWatch is how long to wait before a watch is begun again.
const untilNextWatch = time.Second

// watchAgain brings the objects of a list, each that is there and each as it changes, until the context ends. A watch that ends before, as a busy
// API server ends it, is begun again and brings what is there once more. The error is that of the first watch.
func watchAgain(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (<-chan runtime.Object, error) {
	current, err := c.Watch(ctx, list, options...)
	if err != nil {
		return nil, err
	}
	seen := make(chan runtime.Object)
	go func() {
		for {
			if current != nil {
				passOn(ctx, current, seen)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(untilNextWatch):
			}
			if current, err = c.Watch(ctx, list, options...); err != nil {
				current = nil
			}
		}
	}()
	return seen, nil
}

// passOn passes on what a watch brings, until it ends.
func passOn(ctx context.Context, from watch.Interface, to chan<- runtime.Object) {
	defer from.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-from.ResultChan():
			if !open {
				return
			}
			select {
			case <-ctx.Done():
				return
			case to <- event.Object:
			}
		}
	}
}
