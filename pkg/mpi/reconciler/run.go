package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/lead"
)

// Run works until the context ends. It returns an error when it must not go on in this process, such as an address that is
// taken. What may pass by itself it waits for, alive and not ready, and says why: a lease that was lost, an API server that does
// not answer, kinds that are not installed yet, and for an executor Kubeflow Trainer. A process that ended instead would be started
// again after longer and longer pauses, up to five minutes, and jobs would wait for it.
func Run(ctx context.Context, config *rest.Config, options Options) (err error) {
	options.Mode = cmp.Or(options.Mode, Executor)
	options.clock = newServerClock(steadyClock())
	options.clock.wall = time.Now
	options.probes = lead.NewProbes()
	prepared := rest.CopyConfig(config)
	prepared.QPS = -1
	prepared.Wrap(options.clock.wrapTransport)
	if err := options.probes.Serve(ctx, options.ProbeAddress); err != nil {
		return err
	}
	if options.scheme, err = kinds.Scheme(); err != nil {
		return err
	}
	sink, err := events.NewSink(prepared)
	if err != nil {
		return err
	}
	if options.recorder, err = sink.NewRecorder(options.scheme); err != nil {
		return err
	}
	live, err := client.New(prepared, client.Options{Scheme: options.scheme})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if options.Mode == Executor {
		options.trainers = lead.NewTrainerWatch(live, options.clock.now, options.TrainerNamespaces)
	}
	warning := events.PodWarning{Sink: sink, Namespace: options.Namespace, Identity: options.Identity}
	checks := lead.Checks{Live: live, Trainers: options.trainers, Probes: options.probes, Warn: warning.PostOnce}
	for {
		if !checks.Await(ctx) {
			return nil
		}
		err := runManager(ctx, prepared, options)
		var foreign *lead.ConflictingControllerError
		switch {
		case errors.As(err, &foreign):
		case errors.Is(err, lead.ErrLost):
			ctrl.Log.Info("the controller stopped its work and starts again", "reason", err.Error())
		default:
			return err
		}
	}
}

// runManager runs one manager to its end.
func runManager(ctx context.Context, config *rest.Config, options Options) error {
	// What the manager starts ends with it, also where the process goes on.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	held, err := lead.NewGuard(config, options.Namespace, options.Identity, func() {
		options.probes.SetNotReady(lead.ErrLost)
		stop()
	})
	if err != nil {
		return err
	}
	defer held.IgnoreLoss()
	mgr, err := newManager(ctx, config, options, held)
	if err != nil {
		return fmt.Errorf("set up controller: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	if held.IsLost() {
		return lead.ErrLost
	}
	return nil
}
