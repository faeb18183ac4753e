package reconciler

import (
	"context"
	"crypto/rand"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	controllermetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"lockstep.dev/lockstep/pkg/mpi/reconciler/artifacts"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/launchers"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/metrics"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/queues"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/retention"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/watch"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/webhook"
)

// setUpController adds the controller to its manager.
func setUpController(ctx context.Context, mgr ctrl.Manager, options Options) error {
	counted, err := metrics.Register(controllermetrics.Registry, mgr.GetClient(), options.Mode.JobLabel(), options.clock.now)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	var lines *queues.Watcher
	if options.Mode == Executor {
		if err := mgr.Add(options.trainers); err != nil {
			return fmt.Errorf("add the look-out for Kubeflow Trainer: %w", err)
		}
		var err error
		if lines, err = addQueueWatcher(mgr, options); err != nil {
			return err
		}
	}
	pusher := launchers.New(mgr.GetAPIReader())
	if err := mgr.Add(pusher); err != nil {
		return fmt.Errorf("add rendezvous: %w", err)
	}
	if err := mgr.Add(&retention.Sweeper{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Now: options.clock.now}); err != nil {
		return fmt.Errorf("add the deletion of finished jobs: %w", err)
	}
	parts := loop.Parts{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: options.Namespace, Random: rand.Reader,
		Mode: options.Mode, Now: options.clock.now, Launchers: pusher, Queues: lines, Events: options.recorder,
		Metrics: counted,
	}
	if options.Mode == Executor {
		parts.Policies = mgr.GetCache()
	}
	r := loop.New(parts)
	if options.servesWebhook() {
		webhook.Serve(mgr.GetWebhookServer(), options.keys, r)
	}
	if options.Mode == Executor {
		copier := &artifacts.Copier{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), FindRuntime: r.FindRuntime, Events: options.recorder,
		}
		if err := copier.SetUp(mgr); err != nil {
			return err
		}
	}
	changed := []chan event.GenericEvent{pusher.Changed}
	if lines != nil {
		changed = append(changed, lines.Changed)
	}
	return watch.Start(ctx, mgr, r, options.Concurrency, changed...)
}

func addQueueWatcher(mgr ctrl.Manager, options Options) (*queues.Watcher, error) {
	visibility, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create client for Kueue's visibility server: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create client for the API server's kinds: %w", err)
	}
	lines := queues.NewWatcher(mgr.GetClient(), mgr.GetAPIReader(), visibility, served.OpenAPIV3(), options.clock.now)
	if err := mgr.Add(lines); err != nil {
		return nil, fmt.Errorf("add the look at queues: %w", err)
	}
	return lines, nil
}
