package watch

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// newInformer is client-go's, but for its watches: they are read to their end. controller-runtime filters those of metadata, and the last word of
// such a watch would keep its filter waiting for a reader for ever, with each lease that is lost.
func newInformer(lister toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if lister, ok := lister.(*toolscache.ListWatch); ok && lister.WatchFuncWithContext != nil {
		begin := lister.WatchFuncWithContext
		lister.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			began, err := begin(ctx, options)
			if err != nil {
				return nil, err
			}
			return drainedWatch{began}, nil
		}
	}
	return toolscache.NewSharedIndexInformer(lister, object, resync, indexers)
}

// drainedWatch is read to its end when it is stopped.
type drainedWatch struct{ watch.Interface }

// Stop ends the watch and takes what it still says.
func (w drainedWatch) Stop() {
	w.Interface.Stop()
	go func() {
		for range w.ResultChan() { // until it is closed
		}
	}()
}
