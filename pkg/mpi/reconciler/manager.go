package reconciler

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/lead"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/metrics"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/watch"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/webhook"
)

// Mode is who runs TrainJobs.
type Mode = loop.Mode

// The modes.
const (
	Executor  = loop.Executor
	Companion = loop.Companion
)

// Modes lists them.
func Modes() []Mode { return []Mode{Executor, Companion} }

// Options are what a deployment may decide.
type Options struct {
	// Mode is who runs TrainJobs; empty means Executor.
	Mode Mode
	// Namespace is where the controller's own pods run; launchers admit it, and its lease is there.
	Namespace string
	// Concurrency is how many TrainJobs are reconciled at a time, at least 1.
	Concurrency int
	// LeaderElection makes the controller work only while it holds its lease.
	LeaderElection bool
	// MetricsAddress and ProbeAddress are what the two HTTP servers bind, for example `:8443`; "0" turns one off.
	MetricsAddress string
	ProbeAddress   string
	// MetricsAuthentication lets those only read metrics who show a token that the API server knows, and may `get /metrics`.
	MetricsAuthentication bool
	// WebhookAddress is where a companion answers for pods, for example `:9443`; "0" or empty turns it off, and then only
	// launchers have the image and the environment of their TrainJob.
	WebhookAddress string
	// Identity is the name under which this process takes the lease, usually the name of its pod: a container that is
	// started again in the same pod goes on at once, instead of waiting for its own lease to run out. Empty takes a new name
	// for each process.
	Identity string
	// TrainerNamespaces are the namespaces in which an executor believes that a lease is Kubeflow Trainer's, and waits; none is believed
	// where there are none. See the function of that name.
	TrainerNamespaces []string

	clock    *serverClock
	scheme   *runtime.Scheme
	probes   *lead.Probes
	recorder *events.Recorder
	trainers *lead.TrainerWatch
	keys     *webhook.Keyring
}

// servesWebhook reports whether a webhook is served.
func (o Options) servesWebhook() bool {
	return o.Mode == Companion && o.WebhookAddress != "" && o.WebhookAddress != "0"
}

// newManager returns a manager that runs the controller once it is started. The configuration has no client-side rate limit:
// the API server's own fairness protects it, and a limit here would only make jobs start later. A clean end gives the lease
// back, so that the next process need not wait for it.
func newManager(ctx context.Context, config *rest.Config, options Options, held *lead.Guard) (manager.Manager, error) {
	cached, err := watch.CacheOptions(options.Mode)
	if err != nil {
		return nil, err
	}
	wanted := manager.Options{
		Scheme:                              options.scheme,
		Cache:                               cached,
		Client:                              client.Options{Cache: &client.CacheOptions{DisableFor: watch.UncachedKinds()}},
		LeaderElection:                      options.LeaderElection,
		LeaderElectionReleaseOnCancel:       true,
		LeaderElectionResourceLockInterface: held,
		LeaseDuration:                       ptr.To(lead.LeaseDuration),
		RenewDeadline:                       ptr.To(lead.RenewDeadline),
		RetryPeriod:                         ptr.To(lead.RetryPeriod),
	}
	options.keys = &webhook.Keyring{Now: options.clock.now}
	if options.servesWebhook() {
		if wanted.WebhookServer, err = webhook.NewServer(options.WebhookAddress, options.keys); err != nil {
			return nil, err
		}
	}
	wanted.Metrics, err = metrics.ServerOptions(options.MetricsAddress, options.Namespace, options.MetricsAuthentication, options.clock.now)
	if err != nil {
		return nil, err
	}
	mgr, err := manager.New(config, wanted)
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	if err := mgr.Add(cacheReadiness{mgr.GetCache(), options.probes}); err != nil {
		return nil, fmt.Errorf("add readiness: %w", err)
	}
	if options.servesWebhook() {
		if err := mgr.Add(&webhook.Certificate{
			Live: mgr.GetAPIReader(), Client: mgr.GetClient(), Keys: options.keys, Now: options.clock.now,
			Namespace: options.Namespace, Address: options.WebhookAddress,
		}); err != nil {
			return nil, fmt.Errorf("add certificate: %w", err)
		}
	}
	return mgr, setUpController(ctx, mgr, options)
}

// cacheReadiness says that the controller is ready when it knows the cluster: its caches are filled.
type cacheReadiness struct {
	cache  cache.Cache
	probes *lead.Probes
}

// Start waits for the caches.
func (r cacheReadiness) Start(ctx context.Context) error {
	r.probes.SetNotReady(errFilling)
	if r.cache.WaitForCacheSync(ctx) {
		r.probes.SetNotReady(nil)
	}
	return nil
}

// NeedLeaderElection makes a standby ready too.
func (r cacheReadiness) NeedLeaderElection() bool { return false }

var errFilling = errors.New("the caches are not filled yet")
