package reconciler

import (
	"context"
	"crypto/rand"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	controllermetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Scheme returns the types that the controller works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	return scheme, nil
}

// setUpController adds the controller to its manager.
func setUpController(ctx context.Context, mgr ctrl.Manager, options Options) error {
	metrics, err := Register(controllermetrics.Registry, mgr.GetClient(), options.Mode.JobLabel(), options.clock.now)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	var lines *Watcher
	if options.Mode == Executor {
		if err := mgr.Add(options.trainers); err != nil {
			return fmt.Errorf("add the look-out for Kubeflow Trainer: %w", err)
		}
		var err error
		if lines, err = addQueueWatcher(mgr, options); err != nil {
			return err
		}
	}
	launchers := NewPusher(mgr.GetAPIReader())
	if err := mgr.Add(launchers); err != nil {
		return fmt.Errorf("add rendezvous: %w", err)
	}
	if err := mgr.Add(&Sweeper{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Now: options.clock.now}); err != nil {
		return fmt.Errorf("add the deletion of finished jobs: %w", err)
	}
	parts := Parts{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: options.Namespace, Random: rand.Reader,
		Mode: options.Mode, Now: options.clock.now, Launchers: launchers, Queues: lines, Events: options.recorder,
		Metrics: metrics,
	}
	if options.Mode == Executor {
		parts.Policies = mgr.GetCache()
	}
	r := New(parts)
	if options.servesWebhook() {
		ServePods(mgr.GetWebhookServer(), options.keys, r)
	}
	changed := []chan event.GenericEvent{launchers.Changed}
	if lines != nil {
		changed = append(changed, lines.Changed)
	}
	return Watch(ctx, mgr, r, options.Concurrency, changed...)
}

func addQueueWatcher(mgr ctrl.Manager, options Options) (*Watcher, error) {
	visibility, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create client for Kueue's visibility server: %w", err)
	}
	lines := NewWatcher(mgr.GetClient(), mgr.GetAPIReader(), visibility, options.clock.now)
	if err := mgr.Add(lines); err != nil {
		return nil, fmt.Errorf("add the look at queues: %w", err)
	}
	return lines, nil
}
