package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

const (
	// firstLook and lastLook bound how long a start-up waits before it looks again for what it lacks: an API server that
	// answers, kinds that are installed.
	firstLook = 250 * time.Millisecond
	lastLook  = 2 * time.Second
	// lookLimit bounds one look.
	lookLimit = 10 * time.Second
)

// Run works until the context ends. It returns an error when it must not go on in this process, such as an address that is
// taken. What may pass by itself it waits for, alive and not ready, and says why: a lease that was lost, an API server that does
// not answer, kinds that are not installed yet, and for an executor Kubeflow Trainer. A process that ended instead would be started
// again after longer and longer pauses, up to five minutes, and jobs would wait for it.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	options.Mode = cmp.Or(options.Mode, Executor)
	options.clock = newClock(time.Now)
	options.probes = newProbes()
	prepared := rest.CopyConfig(config)
	prepared.QPS = -1
	prepared.Wrap(options.clock.wrap)
	if err := options.probes.serve(ctx, options.ProbeAddress); err != nil {
		return err
	}
	e, err := newPreflight(prepared, &options)
	if err != nil {
		return err
	}
	for {
		if !e.pass(ctx) {
			return nil
		}
		err := manage(ctx, prepared, options)
		var foreign *ConflictingControllerError
		switch {
		case errors.As(err, &foreign):
		case errors.Is(err, errLeaseLost):
			ctrl.Log.Info("the controller stopped its work and starts again", "reason", err.Error())
		default:
			return err
		}
	}
}

// manage runs one manager to its end.
func manage(ctx context.Context, config *rest.Config, options Options) error {
	// What the manager starts ends with it, also where the process goes on.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	held, err := newHeldLease(config, options, func() {
		options.probes.say(errLeaseLost)
		stop()
	})
	if err != nil {
		return err
	}
	defer held.close()
	mgr, err := newManager(ctx, config, options, held)
	if err != nil {
		return fmt.Errorf("set up controller: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	if held.lost() {
		return errLeaseLost
	}
	return nil
}

// preflight is what a controller passes before it works.
type preflight struct {
	live         client.Client
	leaseWatcher *trainerLeaseWatcher
	probes       *probes
	notice       podEvent
}

func newPreflight(config *rest.Config, options *Options) (*preflight, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client for events: %w", err)
	}
	if options.Mode == Executor {
		options.leaseWatcher = newTrainerLeaseWatcher(live, options.clock, options.TrainerNamespaces)
	}
	return &preflight{
		live: live, leaseWatcher: options.leaseWatcher, probes: options.probes,
		notice: podEvent{eventSink{clients.CoreV1()}, options.Namespace, options.Identity, ""},
	}, nil
}

// pass waits until nothing is in the way, and returns false when the context ended before.
func (e *preflight) pass(ctx context.Context) bool {
	for again := firstLook; ; again = min(2*again, lastLook) {
		err := e.look(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		e.probes.say(err)
		ctrl.Log.Info("the controller waits", "reason", err.Error())
		wait := again
		var foreign *ConflictingControllerError
		if errors.As(err, &foreign) {
			e.notice.post(ctx, foreign)
			wait = foreign.again()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// look returns what is in the way.
func (e *preflight) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, kind := range needed() {
		_, err := e.live.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			return fmt.Errorf("the cluster has no kind %s (%s): install its definition", kind.Kind, kind.GroupVersion())
		case err != nil:
			return fmt.Errorf("ask the API server for its kinds: %w", err)
		}
	}
	if e.leaseWatcher == nil {
		return nil
	}
	return e.leaseWatcher.check(ctx)
}

// needed are the kinds without which there is nothing to do.
func needed() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		trainer.SchemeGroupVersion.WithKind(trainer.TrainJobKind),
		trainer.SchemeGroupVersion.WithKind(trainer.TrainingRuntimeKind),
		trainer.SchemeGroupVersion.WithKind(trainer.ClusterTrainingRuntimeKind),
		jobset.SchemeGroupVersion.WithKind("JobSet"),
	}
}
