package reconciler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Options are what a deployment may decide.
type Options struct {
	// Namespace is where the controller's own pods run; launchers admit it, and its lease is there.
	Namespace string
	// Concurrency is how many TrainJobs are reconciled at a time, at least 1.
	Concurrency int
	// LeaderElection makes the controller work only while it holds its lease.
	LeaderElection bool
	// MetricsAddress and ProbeAddress are what the two HTTP servers bind, for example `:8080`; "0" turns one off.
	MetricsAddress string
	ProbeAddress   string
}

// NewManager returns a manager that runs the controller once it is started. It takes no client-side rate limit: the API
// server's own fairness protects it, and a limit here would only make jobs start later. A clean end gives the lease back,
// so that the next process need not wait for it.
func NewManager(ctx context.Context, config *rest.Config, options Options) (manager.Manager, error) {
	unlimited := rest.CopyConfig(config)
	unlimited.QPS = -1
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	cached, err := cacheOptions()
	if err != nil {
		return nil, err
	}
	mgr, err := manager.New(unlimited, manager.Options{
		Scheme:                        scheme,
		Cache:                         cached,
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: uncached()}},
		Metrics:                       metricsserver.Options{BindAddress: options.MetricsAddress},
		HealthProbeBindAddress:        options.ProbeAddress,
		LeaderElection:                options.LeaderElection,
		LeaderElectionID:              FieldOwner,
		LeaderElectionNamespace:       options.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	if err := addChecks(mgr); err != nil {
		return nil, err
	}
	return mgr, setup(ctx, mgr, options)
}

// addChecks: alive means that the process answers, ready that it knows the cluster.
func addChecks(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	synced := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), 100*time.Millisecond)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("caches", synced); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}
