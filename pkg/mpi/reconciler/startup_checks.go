package reconciler

import (
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

// startupChecks is what a controller passes before it works.
type startupChecks struct {
	live         client.Client
	leaseWatcher *trainerLeaseWatcher
	probes       *probeServer
	notice       conflictEvent
}

func newStartupChecks(config *rest.Config, options *Options) (*startupChecks, error) {
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
	return &startupChecks{
		live: live, leaseWatcher: options.leaseWatcher, probes: options.probes,
		notice: conflictEvent{eventSink{clients.CoreV1()}, options.Namespace, options.Identity, ""},
	}, nil
}

// awaitPass waits until nothing is in the way, and returns false when the context ended before.
func (e *startupChecks) awaitPass(ctx context.Context) bool {
	for again := firstLook; ; again = min(2*again, lastLook) {
		err := e.findObstacle(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		e.probes.setNotReady(err)
		ctrl.Log.Info("the controller waits", "reason", err.Error())
		wait := again
		var foreign *ConflictingControllerError
		if errors.As(err, &foreign) {
			e.notice.postOnce(ctx, foreign)
			wait = foreign.nextCheck()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// findObstacle returns what is in the way.
func (e *startupChecks) findObstacle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, kind := range neededKinds() {
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
	return e.leaseWatcher.checkLeases(ctx)
}

// neededKinds are the kinds without which there is nothing to do.
func neededKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		trainer.SchemeGroupVersion.WithKind(trainer.TrainJobKind),
		trainer.SchemeGroupVersion.WithKind(trainer.TrainingRuntimeKind),
		trainer.SchemeGroupVersion.WithKind(trainer.ClusterTrainingRuntimeKind),
		jobset.SchemeGroupVersion.WithKind("JobSet"),
	}
}
